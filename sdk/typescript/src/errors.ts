/** What can go wrong: a "no" of the server, and what a task says of itself. */

import type { components } from "./api.js";

export type Problem = components["schemas"]["Problem"];
type Failed = { status: "failed"; error: { code: string; message: string }; retryable: boolean; retry_after_ms?: number };

/** The server's answer was a no, or there was none (then `status` is 0 and `code` is `unreachable`). */
export class SignallerError extends Error {
  override readonly name = "SignallerError";
  readonly fix: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number;

  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    /** The whole problem: `fix`, `problems`, `next_actions` and more. */
    readonly problem?: Problem,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.fix = problem?.fix ?? "";
    this.retryable = problem?.retryable ?? (status === 0 || status >= 500);
    this.retryAfterMs = problem?.retry_after_ms ?? 0;
  }
}

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

  constructor(message = "", options: { afterMs?: number; code?: string } = {}) {
    super(message, { code: "retry", ...options, retryable: true });
  }
}

/** The result that says it. An error that is none of ours may be tried again; its name is the code. */
export function told(error: unknown): Failed {
  const ours = error instanceof Fail ? error : undefined;
  const name = error instanceof Error ? error.name : "error";
  const code = ours?.code ?? name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
  const message = error instanceof Error ? error.message : String(error);
  // Half a surrogate pair is no text, and the server would not read the poll.
  const words = { code: code.slice(0, 64).toWellFormed(), message: message.slice(0, 2_000).toWellFormed() };
  const failed: Failed = { status: "failed", error: words, retryable: ours?.retryable ?? true };
  if (ours?.afterMs !== undefined) failed.retry_after_ms = Math.min(Math.max(0, Math.round(ours.afterMs)), 7 * 24 * 3_600_000);
  return failed;
}
