/**
 * For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe: what is
 * added, emitted or started without a key is given one, so that a broken connection never does anything twice.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "./api.js";

/** What the API takes and answers. */
export type Schemas = components["schemas"];

const BYTES = "application/octet-stream";
const BLOB_BYTES_MAX = 64 * 1024 * 1024;
/** No timer goes on for longer. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

export interface ClientOptions {
  /** Where the server is; SIGNALLER_URL, or http://127.0.0.1:7400. */
  url?: string | undefined;
  /** What it asks of every caller; SIGNALLER_TOKEN. */
  token?: string | undefined;
  /** How long a call may take, with all its tries: 30,000. */
  timeoutMs?: number;
}

/** The server's answer was a no, or there was none (then `status` is 0 and `code` is `unreachable`). */
export class SignallerError extends Error {
  override readonly name = "SignallerError";

  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    /** All that the server says of it: `fix`, `problems`, `next_actions` and more. */
    readonly problem?: Schemas["Problem"],
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.problem?.retryable ?? (this.status === 0 || this.status >= 500);
  }

  /** How long to wait after so many tries: longer each time, by chance, and as long as the server asks. */
  waitMs(tried: number, mostMs = 5_000): number {
    const patience = Math.min(100 * 2 ** (tried - 1), mostMs) * (0.5 + Math.random() / 2);
    return Math.max(patience, this.problem?.retry_after_ms ?? 0);
  }
}

export class Client {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;

  constructor(options: ClientOptions = {}) {
    this.url = (options.url ?? (process.env["SIGNALLER_URL"] || "http://127.0.0.1:7400")).replace(/\/+$/, "");
    if (!/^https?:\/\/./.test(this.url) || !URL.canParse(this.url)) throw new TypeError(`\`${this.url}\` is no address: write it as http://127.0.0.1:7400`);
    const token = options.token ?? process.env["SIGNALLER_TOKEN"];
    this.#headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
    new Headers(this.#headers); // Throws if the token cannot be sent.
    this.#timeoutMs = Math.min(options.timeoutMs ?? 30_000, TIMER_MS_MAX);
  }

  /** Durable when it resolves. The same `id` again is the same event, and has no second effect. */
  emit(name: string, data?: unknown, options: Omit<Schemas["EventEmit"], "name" | "data"> = {}): Promise<Schemas["EventEmitted"]> {
    return this.request("POST", "/v1/events", keyed("id", { ...options, name, data }), { again: true });
  }

  /** All of them or none; at most 1,000. */
  async emitMany(events: Schemas["EventEmit"][]): Promise<Schemas["EventEmitted"][]> {
    const body = { events: events.map((event) => keyed("id", event)) };
    return (await this.request<{ events: Schemas["EventEmitted"][] }>("POST", "/v1/events/batch", body, { again: true })).events;
  }

  readonly tasks = {
    ...this.#begun<Schemas["TaskView"]>("/v1/tasks"),
    /** The same `idempotency_key` again answers the same task. */
    add: (type: string, input?: unknown, options: Omit<Schemas["TaskAdd"], "type" | "input"> = {}): Promise<Schemas["TaskAdded"]> =>
      this.request("POST", "/v1/tasks", keyed("idempotency_key", { ...options, type, input }), { again: true }),
    /** All of them or none; at most 1,000. */
    addMany: async (tasks: Schemas["TaskAdd"][]): Promise<Schemas["TaskAdded"][]> => {
      const body = { tasks: tasks.map((task) => keyed("idempotency_key", task)) };
      return (await this.request<{ tasks: Schemas["TaskAdded"][] }>("POST", "/v1/tasks/batch", body, { again: true })).tasks;
    },
  };

  readonly runs = {
    ...this.#begun<Schemas["RunView"]>("/v1/runs"),
    /** The same `idempotency_key` again answers the same run. */
    start: (workflow: string, input?: unknown, options: Omit<Schemas["RunStart"], "workflow" | "input"> = {}): Promise<Schemas["RunStarted"]> =>
      this.request("POST", "/v1/runs", keyed("idempotency_key", { ...options, workflow, input }), { again: true }),
  };

  /** Bytes, up to 64 MiB, under a name that values may mention; they stay as long as one does. */
  readonly blobs = {
    /** Durable when it resolves. The same bytes have the same name. */
    put: async (data: Uint8Array): Promise<string> => {
      const told = `a blob has at most ${BLOB_BYTES_MAX} bytes, and these are ${data.length}`;
      if (data.length > BLOB_BYTES_MAX) throw new SignallerError("too_large", told, 413);
      return (await this.request<{ ref: string }>("PUT", "/v1/blobs", data, { again: true })).ref;
    },
    get: (ref: string): Promise<Uint8Array> => this.request("GET", `/v1/blobs/${encodeURIComponent(ref)}`),
  };

  /**
   * Anything else of the API, which describes itself at /openapi.json. `again`: it may safely be sent twice, as any GET may. Bytes
   * go and come as they are, everything else as JSON.
   */
  async request<T>(method: string, path: string, body?: unknown, { again = method === "GET" } = {}): Promise<T> {
    const sent = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
    const end = performance.now() + this.#timeoutMs;
    for (let tried = 1; ; tried++) {
      try {
        const signal = AbortSignal.timeout(Math.max(10, Math.round(end - performance.now())));
        return (await this.sendOnce(method, path, sent, signal)) as T;
      } catch (error) {
        const waitMs = again && error instanceof SignallerError && error.retryable ? error.waitMs(tried) : Infinity;
        if (performance.now() + waitMs >= end) throw error;
        await sleep(waitMs);
      }
    }
  }

  /** The answer's JSON, or its bytes. Throws `SignallerError`, also when the server cannot be reached. */
  async sendOnce(method: string, path: string, body: string | Uint8Array | undefined, signal: AbortSignal): Promise<unknown> {
    let [status, text] = [0, ""];
    try {
      const headers = body instanceof Uint8Array ? { ...this.#headers, "content-type": BYTES } : this.#headers;
      const response = await fetch(this.url + path, { method, headers, signal, body: (body as NonNullable<RequestInit["body"]>) ?? null });
      if (response.ok && response.headers.get("content-type") === BYTES) return new Uint8Array(await response.arrayBuffer());
      [status, text] = [response.status, await response.text()];
    } catch (error) {
      const { cause = error } = error as Error;
      throw new SignallerError("unreachable", `the server at ${this.url} did not answer: ${cause}`, 0);
    }
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {}
    if (answer && status < 400) return answer;
    const problem: Schemas["Problem"] | undefined = answer?.error;
    if (problem?.code) throw new SignallerError(problem.code, problem.message, status, problem);
    throw new SignallerError("not_signaller", `the server at ${this.url} is no Signaller: ${status} ${text.slice(0, 200)}`, status);
  }

  /** What was begun and goes on by itself. */
  #begun<View extends { status: string }>(path: string) {
    const get = (id: string): Promise<View> => this.request("GET", `${path}/${encodeURIComponent(id)}`);
    return {
      get,
      /** Workers that are at it are told to stop. One that is cancelled already stays so. */
      cancel: async (id: string, reason?: string): Promise<void> => {
        try {
          await this.request("POST", `${path}/${encodeURIComponent(id)}/cancel`, { reason }, { again: true });
        } catch (no) {
          if (!(no instanceof SignallerError && no.status === 409 && (await get(id)).status === "cancelled")) throw no;
        }
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

/** With a key of its own if it has none: then it may be sent twice. */
function keyed(key: string, body: Record<string, unknown>): Record<string, unknown> {
  return { ...body, [key]: body[key] ?? randomUUID() };
}
