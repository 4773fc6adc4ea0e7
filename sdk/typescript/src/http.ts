/** One request, one answer. Nothing is tried twice here. */

import type { components } from "./api.js";

export type Problem = components["schemas"]["Problem"];

export interface Place {
  /** Where the server is; SIGNALLER_URL, or http://127.0.0.1:7400. */
  url?: string | undefined;
  /** What it asks of every caller; SIGNALLER_TOKEN. */
  token?: string | undefined;
}

/** The server's answer was a no, or there was none (then `status` is 0 and `code` is `unreachable`). */
export class SignallerError extends Error {
  override readonly name = "SignallerError";

  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    /** All that the server says of it: `fix`, `problems`, `next_actions` and more. */
    readonly problem?: Problem,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.problem?.retryable ?? (this.status === 0 || this.status >= 500);
  }

  /** How long to wait before the given try, from 1: longer each time, by chance, and as long as the server asks. */
  waitMs(tried: number): number {
    const patience = Math.min(100 * 2 ** (tried - 1), 5_000) * (0.5 + Math.random() / 2);
    return Math.max(patience, this.problem?.retry_after_ms ?? 0);
  }
}

/** Sends a request, and gives the answer's JSON. Throws `SignallerError`, also when the server cannot be reached. */
export type Send = (method: string, path: string, body: string | undefined, signal: AbortSignal) => Promise<unknown>;

export function sender(place: Place): Send {
  const url = (place.url ?? (process.env["SIGNALLER_URL"] || "http://127.0.0.1:7400")).replace(/\/+$/, "");
  if (!/^https?:\/\/./.test(url)) throw new TypeError(`\`${url}\` is no address of a server: write it as http://127.0.0.1:7400`);
  const token = place.token ?? process.env["SIGNALLER_TOKEN"];
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  return async (method, path, body, signal) => {
    let [status, text] = [0, ""];
    try {
      const response = await fetch(url + path, { method, headers, signal, body: body ?? null });
      [status, text] = [response.status, await response.text()];
    } catch (error) {
      const { cause = error } = error as Error;
      throw new SignallerError("unreachable", `the server at ${url} did not answer: ${cause}`, 0);
    }
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {}
    if (answer && status < 400) return answer;
    const problem: Problem | undefined = answer?.error;
    if (problem?.code) throw new SignallerError(problem.code, problem.message, status, problem);
    throw new SignallerError("not_signaller", `the server at ${url} is no Signaller: ${status} ${text.slice(0, 200)}`, status);
  };
}
