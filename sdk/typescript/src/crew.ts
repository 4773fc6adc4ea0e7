/**
 * What one name of a worker holds and owes, and its talk with the server: POST /v1/work, again and again.
 *
 * Every lease whose end the server has not taken is in every poll, as a result or as held: one in neither is taken back. One
 * poll is under way at a time. While it waits for work, results do not wait with it: they go by themselves, under a name that
 * holds nothing, because the fence alone decides whether they count.
 */

import { setImmediate as breath, setTimeout as sleep } from "node:timers/promises";
import { Attempt, type Context, Fail } from "./attempt.js";
import { type Client, type Schemas, SignallerError } from "./client.js";

const POLL_TASKS_MAX = 1_000;
/** Lines of logs that one poll may bring; fewer of one task. */
const [POLL_LINES_MAX, TASK_LINES_MAX] = [5_000, 100];
/** Results beyond this wait for the next poll, as held. */
const POLL_RESULTS_LENGTH = 512 * 1024;
/** How long a poll waits for work, and how long its answer is waited for. */
const [WAIT_MS, ANSWER_MS_MAX] = [20_000, 30_000];
/** A worker that is full asks so often whether something should stop; one that asked in vain rests so long. */
const [BEAT_MS, REST_MS] = [1_000, 100];
/** A worker that is to stop tries so often to reach a server that went away: for about ten seconds. */
const FAREWELL_TRIES = 8;
/** A result that the server cannot keep now is told again after this. */
const LATER_MS = 1_000;
/** What is aborted to be handed back gets so long to clean up. */
const GRACE_MS = 2_000;

/** An outcome for each: an output, or an error. */
export type Perform = (contexts: Context[]) => Promise<readonly unknown[]>;

export class Crew {
  /** What was given is held; then its result, as JSON, is owed until the server has taken it. */
  readonly #held = new Set<Attempt>();
  readonly #owed = new Map<Attempt, string>();
  #calls = 0;
  #closing = false;
  #waits = false;
  #inVain = false;
  #unanswered = 0;
  #isNews = false;
  #wake = (): void => {};

  /** `slots`: calls at once. `size`: tasks that one takes. */
  constructor(
    readonly client: Client,
    readonly name: string,
    readonly performs: Map<string, Perform>,
    readonly slots: number,
    readonly size: number,
    readonly options: { queues: string[]; log: (line: string) => void },
  ) {}

  async work(): Promise<void> {
    while (this.#held.size || this.#owed.size || !this.#closing) {
      if (!this.#owed.size && (this.#inVain || this.#closing || this.#calls === this.slots)) {
        const beats = [...this.#held].map(({ context }) => context.heartbeat_ms / 3);
        await this.#woken(this.#inVain ? REST_MS : Math.min(BEAT_MS, ...beats));
      }
      await breath(); // What ends at once is told in the same poll.
      const overtaken = new AbortController();
      let isOver = false;
      const asking = this.#poll({ overtaken }).finally(() => {
        [isOver, this.#waits] = [true, false];
        this.#news();
      });
      asking.catch(() => {}); // It is awaited below.
      try {
        while (!isOver) {
          await this.#woken();
          if (this.#waits && this.#closing) overtaken.abort();
          else if (this.#waits && this.#owed.size) await this.#poll({ apart: true });
        }
        await asking;
      } finally {
        overtaken.abort();
      }
    }
    await this.#poll(); // Who wants nothing and holds nothing takes its leave.
  }

  /** Takes nothing more on; what still runs after `limitMs` is handed back. */
  close(limitMs: number): void {
    [this.#closing, this.#unanswered] = [true, 0];
    this.#news();
    setTimeout(() => this.#held.forEach(({ stop }) => stop.abort()), limitMs).unref();
    setTimeout(() => this.#held.forEach((attempt) => this.#release(attempt)), limitMs + GRACE_MS).unref();
  }

  #news(): void {
    this.#isNews = true;
    this.#wake();
  }

  /** Until there is news, or so long. */
  async #woken(ms = WAIT_MS): Promise<void> {
    let timer;
    if (!this.#isNews) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = setTimeout(resolve, ms);
      });
    }
    clearTimeout(timer);
    this.#isNews = false;
  }

  async #poll({ apart = false, overtaken = new AbortController() } = {}): Promise<void> {
    const { name, slots, size } = this;
    const { queues, log } = this.options;
    const results: Attempt[] = [];
    let length = 0;
    for (const [attempt, result] of this.#owed) {
      length += result.length;
      if (!results.length || length <= POLL_RESULTS_LENGTH) results.push(attempt);
    }
    const told = new Set(results);
    const holding = apart ? [] : [...this.#held, ...this.#owed.keys()].filter((attempt) => !told.has(attempt));
    const places = Math.min((slots - this.#calls) * size, POLL_TASKS_MAX - holding.length);
    const want = apart || this.#closing ? 0 : places;
    const waits = want > 0 && results.length === 0;
    if (!apart) this.#waits = waits;
    const head = JSON.stringify({
      worker: apart ? `${name}/results` : name,
      types: [...this.performs.keys()],
      queues,
      want,
      wait_ms: waits ? WAIT_MS : 0,
      holding: holding.map((each) => ({ task: each.context.task, fence: each.context.fence, progress: each.share, log: each.said() })),
    });
    const body = `${head.slice(0, -1)},"results":[${results.map((attempt) => this.#owed.get(attempt)).join()}]}`;
    let answer: Required<Schemas["WorkAnswer"]>;
    const patience = setTimeout(() => overtaken.abort(), ANSWER_MS_MAX);
    try {
      answer = (await this.client.sendOnce("POST", "/v1/work", body, overtaken.signal)) as typeof answer;
    } catch (error) {
      if (this.#closing && waits) return;
      this.#unanswered += 1;
      const isFarewell = this.#closing && !this.#held.size && this.#unanswered > FAREWELL_TRIES;
      if (!(error instanceof SignallerError && error.retryable) || isFarewell) throw error;
      if (this.#unanswered === 1) log(`${error.message}; trying again`);
      return sleep(error.waitMs(this.#unanswered));
    } finally {
      clearTimeout(patience);
    }
    const later = answer.results.find(({ code }) => code === "unavailable");
    this.#unanswered = later ? this.#unanswered + 1 : 0;
    for (const [at, { ok, code, message }] of answer.results.entries()) {
      const attempt = results[at]!;
      const result = this.#owed.get(attempt)!;
      this.#owed.delete(attempt);
      // It cannot be kept now: it is told again, after the others.
      if (code === "unavailable") this.#owed.set(attempt, result);
      else if (!ok) log(`the result of ${attempt.context.task} was not taken: ${message}`);
      if (code === "invalid") this.#owe(attempt, new Fail(message ?? "", { code: "result_refused" }));
    }
    for (const [at, { ok, cancel }] of answer.holding.entries()) {
      if (cancel) holding[at]!.stop.abort();
      if (!ok) this.#held.delete(holding[at]!);
    }
    const attempts = answer.tasks.map((task) => new Attempt(task, Math.min(TASK_LINES_MAX, Math.floor(POLL_LINES_MAX / (slots * size)))));
    for (let first = 0; first < attempts.length; first += size) void this.#start(attempts.slice(first, first + size));
    this.#inVain = waits && attempts.length === 0;
    if (later) {
      const isFarewell = this.#closing && !this.#held.size && this.#unanswered > FAREWELL_TRIES;
      if (isFarewell) throw new SignallerError("unavailable", later.message ?? "", 503);
      log(`a result cannot be kept now: ${later.message}; trying again`);
      await sleep(LATER_MS);
    }
  }

  async #start(attempts: Attempt[]): Promise<void> {
    for (const attempt of attempts) this.#held.add(attempt);
    if (this.#closing) return attempts.forEach((attempt) => this.#release(attempt));
    this.#calls += 1;
    let outcomes: readonly unknown[];
    try {
      outcomes = await this.performs.get(attempts[0]!.context.type)!(attempts.map(({ context }) => context));
    } catch (error) {
      outcomes = attempts.map(() => (error instanceof Error ? error : new Error(String(error))));
    }
    this.#calls -= 1;
    for (const [at, attempt] of attempts.entries()) if (this.#held.has(attempt)) this.#owe(attempt, outcomes[at]);
    this.#news();
  }

  #release(attempt: Attempt): void {
    attempt.stop.abort();
    this.#owe(attempt, new Error("it is handed back"));
  }

  #owe(attempt: Attempt, outcome: unknown): void {
    const { task, type, signal } = attempt.context;
    if (outcome instanceof Error && !(outcome instanceof Fail || signal.aborted)) {
      this.options.log(`${task} of type ${type} failed: ${outcome.stack}`);
    }
    this.#held.delete(attempt);
    this.#owed.set(attempt, attempt.result(outcome));
    this.#news();
  }
}
