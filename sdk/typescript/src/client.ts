/**
 * For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe: what is
 * added, emitted or started without a key is given one, so that a broken connection never does anything twice.
 */

import { setTimeout as sleep } from "node:timers/promises";
import * as calls from "./calls.js";

export type { Schemas } from "./calls.js";

const [JSON_KIND, BYTES] = ["application/json", "application/octet-stream"];
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** How long the server waits for an end before it is asked again, and how much later its answer may come. */
const [WAIT_MS_MAX, LATE_MS_MAX] = [20_000, 1_000];
/** No timer goes on for longer. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

type Body = string | Uint8Array | undefined;

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
    readonly problem?: calls.Schemas["Problem"],
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.problem?.retryable ?? (this.status === 0 || this.status >= 500);
  }

  /** How long to wait after so many tries: longer each time, by chance, and as long as the server asks. */
  waitMs(tried: number, mostMs = 2_000): number {
    const patience = Math.min(100 * 2 ** (tried - 1), mostMs) * (0.5 + Math.random() / 2);
    return Math.max(patience, this.problem?.retry_after_ms ?? 0);
  }
}

export class Client extends calls.Api {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;

  readonly emit = this.events.emit.bind(this.events);

  constructor(options: ClientOptions = {}) {
    super();
    this.url = (options.url ?? (process.env["SIGNALLER_URL"] || "http://127.0.0.1:7400")).replace(/\/+$/, "");
    if (!/^https?:\/\/./.test(this.url) || !URL.canParse(this.url)) throw new TypeError(`\`${this.url}\` is no address: write it as http://127.0.0.1:7400`);
    const token = (options.token ?? process.env["SIGNALLER_TOKEN"])?.trim();
    this.#headers = token ? { authorization: `Bearer ${token}` } : {};
    new Headers(this.#headers); // Throws if the token cannot be sent.
    this.#timeoutMs = Math.min(patience(options.timeoutMs ?? 30_000), TIMER_MS_MAX);
  }

  /** What the calls are made of. Bytes go and come as they are. */
  async request<T>(method: string, path: string, { body, kind = JSON_KIND, query = {}, again, timeoutMs = Infinity }: calls.Sent = {}): Promise<T> {
    const sent = body === undefined || kind !== JSON_KIND ? (body as Body) : JSON.stringify(body);
    const said = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null));
    const may = again || method === "GET" || method === "PUT";
    const waitMs = Number(said.get("wait_ms"));
    const begun = performance.now();
    const end = begun + Math.min(this.#timeoutMs + waitMs, timeoutMs, TIMER_MS_MAX);
    for (let tried = 1; ; tried++) {
      const now = performance.now();
      // After a try that was in vain there is less of it.
      if (waitMs) said.set("wait_ms", String(Math.max(0, Math.round(begun + waitMs - now))));
      try {
        const signal = AbortSignal.timeout(Math.max(10, Math.round(end - now)));
        const where = said.size ? `${path}?${said}` : path;
        return (await this.sendOnce(method, where, sent, signal, kind)) as T;
      } catch (error) {
        const restMs = may && error instanceof SignallerError && error.retryable ? error.waitMs(tried) : Infinity;
        if (!(performance.now() + restMs < end)) throw error;
        await sleep(restMs);
      }
    }
  }

  /** The answer's JSON, or its bytes. Throws `SignallerError`, also when the server cannot be reached. */
  async sendOnce(method: string, path: string, body: Body, signal: AbortSignal, kind = JSON_KIND): Promise<unknown> {
    const size = body?.length ?? 0; // Of what is more it would read nothing, and hang up.
    if (size > BODY_BYTES_MAX) throw new SignallerError("too_large", `${path} takes at most ${BODY_BYTES_MAX} bytes, and these are ${size}`, 413);
    const headers = { ...this.#headers, "content-type": kind };
    const sent = fetch(this.url + path, { method, headers, signal, body: (body as NonNullable<RequestInit["body"]>) ?? null });
    const heard = sent.then(async (response) => [response, new Uint8Array(await response.arrayBuffer())] as const);
    const [{ status, ok, headers: about }, bytes] = await heard.catch((error) => {
      throw new SignallerError("unreachable", `the server at ${this.url} did not answer: ${error.cause ?? error}`, 0);
    });
    if (ok && about.get("content-type") === BYTES) return bytes;
    const text = new TextDecoder().decode(bytes);
    const answer = await Promise.resolve(text).then(JSON.parse).catch(() => {});
    if (answer && ok) return answer;
    const problem: calls.Schemas["Problem"] | undefined = answer?.error;
    if (problem?.code) throw new SignallerError(problem.code, problem.message, status, problem);
    const told = `what the server at ${this.url} answered is not of Signaller's API: ${status} ${text.slice(0, 200)}`;
    throw new SignallerError("not_signaller", told, status);
  }

  /** What is there, when it has ended: what `wait` of tasks and runs is made of. */
  async ended<View extends { status: string }>(path: string, { timeoutMs = Infinity }: { timeoutMs?: number }): Promise<View> {
    const end = performance.now() + patience(timeoutMs);
    for (;;) {
      const restMs = Math.max(0, end - performance.now());
      const wait_ms = Math.round(Math.min(restMs, WAIT_MS_MAX));
      const view = await this.request<View>("GET", path, { query: { wait_ms }, timeoutMs: restMs + LATE_MS_MAX });
      if (["done", "failed", "cancelled"].includes(view.status)) return view;
      if (performance.now() < end) continue;
      throw new DOMException(`after ${timeoutMs} ms ${path.split("/").pop()} is still ${view.status}`, "TimeoutError");
    }
  }
}

/** Of a number that is none there would be no end. */
function patience(ms: number): number {
  if (!(ms >= 0)) throw new RangeError(`timeoutMs is ${ms}; it must be a number, 0 or more`);
  return ms;
}
