/** One attempt at a task: what its function is told, and what the server is told of it. */

import type { Schemas } from "./client.js";

type Task = Schemas["WorkTask"];

const OUTPUT_BYTES_MAX = 256 * 1024;
const LOG_LINE_LENGTH_MAX = 500;
const RETRY_AFTER_MS_MAX = 7 * 24 * 3_600_000;

/** Ends the task as failed; it is not tried again unless `retryable` is said. */
export class Fail extends Error {
  override readonly name: string = "Fail";
  readonly code: string;
  readonly retryable: boolean;
  readonly afterMs: number | undefined;

  constructor(message = "", options: { code?: string; retryable?: boolean; afterMs?: number } = {}) {
    super(message);
    this.code = options.code ?? "failed";
    this.retryable = options.retryable ?? false;
    this.afterMs = options.afterMs;
  }
}

/** Ends this attempt; the next one comes not before `afterMs`, and if attempts are left. */
export class Retry extends Fail {
  override readonly name = "Retry";

  constructor(message = "", options: { code?: string; afterMs?: number } = {}) {
    super(message, { code: "retry", ...options, retryable: true });
  }
}

/** All that the server says of the task, and whether to stop. */
export interface Context<Input = any> extends Omit<Task, "input"> {
  input: Input;
  /** Aborted when it was cancelled, its time is over, or its lease is lost: stop, what comes of it does not count. */
  signal: AbortSignal;
  /** From 0 to 1, told with the next heartbeat. */
  progress(share: number): void;
  /** For people: kept with the task, told with the next heartbeat or the result. Of too many by then, the last are. */
  log(line: string): void;
}

export class Attempt {
  readonly stop = new AbortController();
  readonly context: Context;
  share: number | undefined;
  #lines: string[] = [];

  constructor(task: Task, linesMax: number) {
    const progress = (share: number): void => void (this.share = Math.min(Math.max(share, 0), 1) || 0);
    const log = (line: string): void => {
      this.#lines = [...this.#lines, String(line).slice(0, LOG_LINE_LENGTH_MAX).toWellFormed()].slice(-linesMax);
    };
    this.context = { ...task, signal: this.stop.signal, progress, log };
  }

  /** What was said since it was last asked for. */
  said(): string[] {
    return this.#lines.splice(0);
  }

  /** What a poll says of it, as JSON. An error that is none of ours may be tried again; its name is the code. */
  result(outcome: unknown): string {
    const { task, fence, signal } = this.context;
    const log = this.said();
    if (!(outcome instanceof Error)) {
      try {
        // What is undefined is null; a function, for example, is nothing that can be told.
        const output: string | undefined = JSON.stringify(outcome ?? null);
        if (output === undefined) throw new TypeError(`a ${typeof outcome} is not`);
        if (Buffer.byteLength(output) <= OUTPUT_BYTES_MAX) {
          return `${JSON.stringify({ task, fence, log, status: "done" }).slice(0, -1)},"output":${output}}`;
        }
        outcome = new Fail(`the output is larger than ${OUTPUT_BYTES_MAX} bytes of JSON`, { code: "output_too_large" });
      } catch (error) {
        outcome = new Fail(`the output is no JSON: ${(error as Error).message}`, { code: "output_not_json" });
      }
    } else if (signal.aborted) {
      return JSON.stringify({ task, fence, log, status: "released" });
    }
    const { name, message } = outcome as Error;
    const code = name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
    const fail = outcome instanceof Fail ? outcome : new Fail("", { code, retryable: true });
    // Half a surrogate pair is no text, and the server would not read the poll.
    const error = { code: fail.code.toWellFormed(), message: message.slice(0, 2_000).toWellFormed() };
    const retry_after_ms = fail.afterMs === undefined ? undefined : Math.min(Math.max(0, Math.round(fail.afterMs)), RETRY_AFTER_MS_MAX);
    return JSON.stringify({ task, fence, log, status: "failed", error, retryable: fail.retryable, retry_after_ms });
  }
}
