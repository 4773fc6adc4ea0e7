/** One request, one answer. Nothing is tried twice here. */

import { SignallerError, type Problem } from "./errors.js";

export interface Place {
  /** Where the server is; SIGNALLER_URL, or http://127.0.0.1:7400. */
  url?: string | undefined;
  /** What it asks of every caller; SIGNALLER_TOKEN. */
  token?: string | undefined;
}

export class Http {
  readonly url: string;
  readonly #headers: Record<string, string>;

  constructor(place: Place) {
    this.url = (place.url ?? (process.env["SIGNALLER_URL"] || "http://127.0.0.1:7400")).replace(/\/+$/, "");
    if (!/^https?:\/\/./.test(this.url)) {
      throw new TypeError(`\`${this.url}\` is no address of a server: write it as http://127.0.0.1:7400`);
    }
    const token = place.token ?? process.env["SIGNALLER_TOKEN"];
    this.#headers = { accept: "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
  }

  /** The answer's JSON. Throws `SignallerError`, also when the server cannot be reached. */
  async send(method: string, path: string, body: string | undefined, signal: AbortSignal): Promise<unknown> {
    let status: number, text: string;
    try {
      const headers = body === undefined ? this.#headers : { ...this.#headers, "content-type": "application/json" };
      const response = await fetch(this.url + path, { method, headers, signal, ...(body === undefined ? {} : { body }) });
      [status, text] = [response.status, await response.text()];
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const why = cause instanceof Error ? cause.message || cause.name : String(cause);
      throw new SignallerError("unreachable", `the server at ${this.url} did not answer: ${why}`, 0, undefined, { cause: error });
    }
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      throw new SignallerError("not_json", `the answer is no JSON: ${text.slice(0, 200)}`, status);
    }
    if (status < 400) return answer;
    const problem = (answer as { error?: Problem } | null)?.error;
    if (typeof problem?.code !== "string") {
      throw new SignallerError("not_signaller", `the answer is ${status}, and not of a Signaller server`, status);
    }
    throw new SignallerError(problem.code, problem.message, status, problem);
  }
}
