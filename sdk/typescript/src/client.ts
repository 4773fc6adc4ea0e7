/**
 * For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe: what is
 * added, emitted or started without a key is given one, so that a broken connection never does anything twice.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "./api.js";
import { SignallerError } from "./errors.js";
import { Http, type Place } from "./http.js";

type Schemas = components["schemas"];
export type EventEmit = Schemas["EventEmit"];
export type EventEmitted = Schemas["EventEmitted"];
export type TaskAdd = Schemas["TaskAdd"];
export type TaskAdded = Schemas["TaskAdded"];
export type TaskView = Schemas["TaskView"];
export type RunStart = Schemas["RunStart"];
export type RunStarted = Schemas["RunStarted"];
export type RunView = Schemas["RunView"];

export interface ClientOptions extends Place {
  /** How long a call may take, with all its tries: 30,000. */
  timeoutMs?: number;
}

export class Client {
  readonly #http: Http;
  readonly #timeoutMs: number;

  constructor(options: ClientOptions = {}) {
    this.#http = new Http(options);
    this.#timeoutMs = options.timeoutMs ?? 30_000;
  }

  /** Durable when it resolves. The same `id` again is the same event, and has no second effect. */
  emit(name: string, data?: unknown, options: Omit<EventEmit, "name" | "data"> = {}): Promise<EventEmitted> {
    return this.request("POST", "/v1/events", { id: randomUUID(), ...options, name, data }, { again: true });
  }

  /** All of them or none; at most 1,000. */
  async emitMany(events: EventEmit[]): Promise<EventEmitted[]> {
    const body = { events: events.map((event) => ({ id: randomUUID(), ...event })) };
    return (await this.request<{ events: EventEmitted[] }>("POST", "/v1/events/batch", body, { again: true })).events;
  }

  readonly tasks = {
    /** The same `idempotency_key` again answers the same task. */
    add: (type: string, input?: unknown, options: Omit<TaskAdd, "type" | "input"> = {}): Promise<TaskAdded> =>
      this.request("POST", "/v1/tasks", { idempotency_key: randomUUID(), ...options, type, input }, { again: true }),
    /** All of them or none; at most 1,000. */
    addMany: async (tasks: TaskAdd[]): Promise<TaskAdded[]> => {
      const body = { tasks: tasks.map((task) => ({ idempotency_key: randomUUID(), ...task })) };
      return (await this.request<{ tasks: TaskAdded[] }>("POST", "/v1/tasks/batch", body, { again: true })).tasks;
    },
    get: (task: string): Promise<TaskView> => this.request("GET", `/v1/tasks/${encodeURIComponent(task)}`),
    /** A worker that is at it is told to stop. */
    cancel: (task: string, reason?: string): Promise<Schemas["TaskStatus"]> =>
      this.request("POST", `/v1/tasks/${encodeURIComponent(task)}/cancel`, { reason }),
    /** Until it is done, failed or cancelled. Throws after `timeoutMs`; the task goes on. */
    wait: (task: string, options: { timeoutMs?: number } = {}): Promise<TaskView> => wait(task, this.tasks.get, options.timeoutMs),
  };

  readonly runs = {
    /** The same `idempotency_key` again answers the same run. */
    start: (workflow: string, input?: unknown, options: Omit<RunStart, "workflow" | "input"> = {}): Promise<RunStarted> =>
      this.request("POST", "/v1/runs", { idempotency_key: randomUUID(), ...options, workflow, input }, { again: true }),
    get: (run: string): Promise<RunView> => this.request("GET", `/v1/runs/${encodeURIComponent(run)}`),
    cancel: (run: string, reason?: string): Promise<Schemas["RunNow"]> =>
      this.request("POST", `/v1/runs/${encodeURIComponent(run)}/cancel`, { reason }),
    /** Until it is done, failed or cancelled. Throws after `timeoutMs`; the run goes on. */
    wait: (run: string, options: { timeoutMs?: number } = {}): Promise<RunView> => wait(run, this.runs.get, options.timeoutMs),
  };

  /**
   * Anything else of the API, which describes itself at /openapi.json. `again`: it may safely be sent twice, which is taken
   * for granted of a GET.
   */
  async request<T>(method: string, path: string, body?: unknown, options: { again?: boolean } = {}): Promise<T> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const end = performance.now() + this.#timeoutMs;
    for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, 2_000)) {
      try {
        const signal = AbortSignal.timeout(Math.max(10, Math.round(end - performance.now())));
        return (await this.#http.send(method, path, text, signal)) as T;
      } catch (error) {
        const may = error instanceof SignallerError && error.retryable && (options.again ?? method === "GET");
        const restMs = may ? Math.max(waitMs * (0.5 + Math.random() / 2), error.retryAfterMs) : Infinity;
        if (performance.now() + restMs >= end) throw error;
        await sleep(restMs);
      }
    }
  }
}

async function wait<V extends { status: string }>(what: string, get: (what: string) => Promise<V>, timeoutMs = Infinity): Promise<V> {
  const end = performance.now() + timeoutMs;
  for (let restMs = 20; ; restMs = Math.min(restMs * 1.5, 1_000)) {
    const view = await get(what);
    if (["done", "failed", "cancelled"].includes(view.status)) return view;
    if (performance.now() + restMs > end) throw new Error(`${what} is still ${view.status} after ${timeoutMs} ms`);
    await sleep(restMs);
  }
}
