/** One attempt at a task: what its function is told, and what the server is told of it. */

import type { Schemas } from "./client.js";

type Task = Schemas["WorkTask"];

const OUTPUT_BYTES_MAX = 256 * 1024;
const [LOG_LINES_MAX, LOG_LINE_LENGTH_MAX] = [100, 500];
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
  /** From 0 to 1, and what it is at; told with the next heartbeat or the result. */
  progress(share: number, message?: string): void;
  /** For people: kept with the task, told with the next heartbeat or the result. At most 100 wait for it. */
  log(line: string): void;
}

export class Attempt {
  readonly stop = new AbortController();
  readonly context: Context;
  /** How far it is. */
  far: { progress?: number; message?: string } = {};
  /** What was said, and not told. */
  lines: string[] = [];

  constructor(readonly task: Task) {
    const progress = (share: number, message?: string): void => {
      this.far = { progress: Math.min(Math.max(share, 0), 1) || 0, ...(message && { message: text(message, LOG_LINE_LENGTH_MAX) }) };
    };
    const log = (line: string): void => void (this.lines = [...this.lines, text(line, LOG_LINE_LENGTH_MAX)].slice(-LOG_LINES_MAX));
    this.context = { ...task, signal: this.stop.signal, progress, log };
  }

  /** What a poll says of it, as JSON without the last brace: its log comes then. There is a result of whatever comes. */
  result(outcome: unknown): string {
    const { task, fence } = this.task;
    let told: string;
    try {
      // Whatever one says that was to stop: nobody knows whether that is all of it.
      told = this.stop.signal.aborted ? '"status":"released"' : toldOf(outcome);
    } catch (error) {
      told = toldOf(new Fail(`its result cannot be told: ${text(error, 200)}`, { code: "result_refused" }));
    }
    return `${JSON.stringify({ task, fence }).slice(0, -1)},${told}`;
  }
}

function toldOf(outcome: unknown): string {
  if (!(outcome instanceof Error)) {
    // What is undefined is null; a function, for example, is nothing that can be told.
    const output: string | undefined = JSON.stringify(outcome ?? null);
    if (output === undefined) throw new TypeError(`a ${typeof outcome} is no JSON`);
    if (Buffer.byteLength(output) <= OUTPUT_BYTES_MAX) return `"status":"done","output":${output}`;
    return toldOf(new Fail(`the output is larger than ${OUTPUT_BYTES_MAX} bytes of JSON`, { code: "output_too_large" }));
  }
  // An error that is none of ours may be tried again; its name is the code.
  const name = text(outcome.name, 200).replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
  const { code, retryable, afterMs } = outcome instanceof Fail ? outcome : new Fail("", { code: name, retryable: true });
  const error = { code: text(code, 200), message: text(outcome.message, 2_000) };
  const retry_after_ms = afterMs === undefined ? undefined : Math.min(Math.max(0, Math.round(afterMs)) || 0, RETRY_AFTER_MS_MAX);
  return JSON.stringify({ status: "failed", error, retryable: Boolean(retryable), retry_after_ms }).slice(1, -1);
}

/** Half a surrogate pair is no text, and the server would not read the poll; what has no text at all is an empty one. */
export function text(value: unknown, lengthMax: number): string {
  try {
    return String(value).slice(0, lengthMax).toWellFormed();
  } catch {
    return "";
  }
}
