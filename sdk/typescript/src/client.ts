/**
 * For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe: what is
 * added, emitted or started without a key is given one, so that a broken connection never does anything twice.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "./api.js";
import { type Place, type Send, sender, SignallerError } from "./http.js";

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
  readonly #send: Send;
  readonly #timeoutMs: number;

  constructor(options: ClientOptions = {}) {
    this.#send = sender(options);
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
    ...this.#begun<TaskView>("/v1/tasks"),
    /** The same `idempotency_key` again answers the same task. */
    add: (type: string, input?: unknown, options: Omit<TaskAdd, "type" | "input"> = {}): Promise<TaskAdded> =>
      this.request("POST", "/v1/tasks", { idempotency_key: randomUUID(), ...options, type, input }, { again: true }),
    /** All of them or none; at most 1,000. */
    addMany: async (tasks: TaskAdd[]): Promise<TaskAdded[]> => {
      const body = { tasks: tasks.map((task) => ({ idempotency_key: randomUUID(), ...task })) };
      return (await this.request<{ tasks: TaskAdded[] }>("POST", "/v1/tasks/batch", body, { again: true })).tasks;
    },
  };

  readonly runs = {
    ...this.#begun<RunView>("/v1/runs"),
    /** The same `idempotency_key` again answers the same run. */
    start: (workflow: string, input?: unknown, options: Omit<RunStart, "workflow" | "input"> = {}): Promise<RunStarted> =>
      this.request("POST", "/v1/runs", { idempotency_key: randomUUID(), ...options, workflow, input }, { again: true }),
  };

  /** Anything else of the API, which describes itself at /openapi.json. `again`: it may safely be sent twice, as any GET may. */
  async request<T>(method: string, path: string, body?: unknown, { again = method === "GET" } = {}): Promise<T> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const end = performance.now() + this.#timeoutMs;
    for (let tried = 1; ; tried++) {
      try {
        const signal = AbortSignal.timeout(Math.max(10, Math.round(end - performance.now())));
        return (await this.#send(method, path, text, signal)) as T;
      } catch (error) {
        const waitMs = again && error instanceof SignallerError && error.retryable ? error.waitMs(tried) : Infinity;
        if (performance.now() + waitMs >= end) throw error;
        await sleep(waitMs);
      }
    }
  }

  /** What was begun and goes on by itself. */
  #begun<View extends { status: string }>(path: string) {
    const get = (id: string): Promise<View> => this.request("GET", `${path}/${encodeURIComponent(id)}`);
    return {
      get,
      /** Workers that are at it are told to stop. */
      cancel: async (id: string, reason?: string): Promise<void> => {
        await this.request("POST", `${path}/${encodeURIComponent(id)}/cancel`, { reason });
      },
      /** Until it is done, failed or cancelled. Throws after `timeoutMs`; it goes on. */
      wait: async (id: string, { timeoutMs = Infinity } = {}): Promise<View> => {
        const end = performance.now() + timeoutMs;
        for (let restMs = 20; ; restMs = Math.min(restMs * 1.5, 1_000)) {
          const view = await get(id);
          if (["done", "failed", "cancelled"].includes(view.status)) return view;
          if (performance.now() + restMs > end) throw new Error(`${id} is still ${view.status} after ${timeoutMs} ms`);
          await sleep(restMs);
        }
      },
    };
  }
}
