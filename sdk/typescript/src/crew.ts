/**
 * What one name of a worker holds and owes, and its talk with the server: POST /v1/work, again and again.
 *
 * Every lease whose end the server has not taken is in every poll, as a result or as held: one in neither is taken back. One
 * poll is under way at a time. While it waits for work, results do not wait with it: they go by themselves, under a name that
 * holds nothing, because the fence alone decides whether they count.
 */

import { setImmediate as breath, setTimeout as sleep } from "node:timers/promises";
import { Attempt, type Context, Fail, text } from "./attempt.js";
import { type Client, type Schemas, SignallerError, TIMER_MS_MAX } from "./client.js";

/** Leases that one poll may name. */
const POLL_TASKS_MAX = 1_000;
/** Results beyond this wait for the next poll, as held; log lines beyond as much do, too, and each costs something by itself. */
const [POLL_LENGTH, LINE_COST] = [1024 * 1024, 120];
/** How long a poll waits for work, and how long its answer is waited for. */
const [WAIT_MS, ANSWER_MS_MAX] = [20_000, 30_000];
/** A worker that is full asks so often whether something should stop; one that asked in vain rests so long. */
const [BEAT_MS, REST_MS] = [1_000, 100];
/** A server that cannot be reached, or cannot keep a result, is asked again after this at the latest. */
const AGAIN_MS_MAX = 5_000;
/** A worker that is to stop tries so long to tell the last of its results. */
const FAREWELL_MS = 10_000;
/** What is aborted to be handed back gets so long to clean up. */
const GRACE_MS = 2_000;

/** An outcome for each: an output, or an error. */
export type Perform = (contexts: Context[]) => Promise<readonly unknown[]>;

export class Crew {
  /** What was given is held; then its result is owed until the server has taken it. */
  readonly #held = new Set<Attempt>();
  readonly #owed = new Map<Attempt, string>();
  #calls = 0;
  #closing = false;
  #waits = false;
  #inVain = false;
  #isKnown = false;
  /** Tries since the server last took all it was told, and when there was last a reason to begin trying. */
  #tried = 0;
  #triesSince = 0;
  #wake = new AbortController();

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
        await this.#woken(this.#inVain ? REST_MS : this.#beatMs(BEAT_MS));
      }
      await breath(); // What ends at once is told in the same poll.
      const overtaken = new AbortController();
      let isOver = false;
      const asking = this.#poll({ overtaken }).finally(() => {
        [isOver, this.#waits] = [true, false];
        this.#wake.abort();
      });
      asking.catch(() => {}); // It is awaited below.
      try {
        while (!isOver) {
          // One that waits is overtaken when the worker is to stop: what it brings after that is not its own.
          if (this.#waits && this.#closing) overtaken.abort();
          if (this.#waits && !this.#closing && this.#owed.size) await this.#poll({ apart: true });
          else await this.#woken();
        }
        await asking;
      } finally {
        overtaken.abort();
      }
    }
    await this.#poll().catch(() => {}); // Who wants nothing and holds nothing takes its leave.
  }

  /** Takes nothing more on; what still runs after `limitMs` is handed back. */
  close(limitMs: number): void {
    [this.#closing, this.#triesSince] = [true, performance.now()];
    this.#wake.abort();
    const ms = Math.min(limitMs, TIMER_MS_MAX - GRACE_MS);
    setTimeout(() => this.#held.forEach(({ stop }) => stop.abort()), ms).unref();
    setTimeout(() => this.#held.forEach((attempt) => this.#owe(attempt, new Error("it is handed back"))), ms + GRACE_MS).unref();
  }

  /** Until there is news, or so long. */
  async #woken(ms = WAIT_MS): Promise<void> {
    await sleep(ms, undefined, { signal: this.#wake.signal }).catch(() => {});
    this.#wake = new AbortController();
  }

  /** How long the server may hear nothing. */
  #beatMs(mostMs: number): number {
    return [...this.#held, ...this.#owed.keys()].reduce((least, { task }) => Math.min(least, task.heartbeat_ms / 3), mostMs);
  }

  async #poll({ apart = false, overtaken = new AbortController() } = {}): Promise<void> {
    const results = new Map<Attempt, string>();
    const said = new Map<Attempt, string[]>();
    let room = POLL_LENGTH / 2 ** this.#tried; // Less, if so much was too much.
    for (const attempt of [...this.#owed.keys(), ...(apart ? [] : this.#held)]) {
      const [result, lines] = room > 0 ? [this.#owed.get(attempt), attempt.lines.splice(0)] : [undefined, []];
      if (result) results.set(attempt, result);
      said.set(attempt, lines);
      room -= lines.reduce((length, line) => length + line.length + LINE_COST, result?.length ?? 0);
    }
    const holding = apart ? [] : [...said.keys()].filter((attempt) => !results.has(attempt));
    // Who could not tell what it has done takes nothing more on until it can.
    const wants = !apart && !this.#closing && !this.#tried;
    const free = (this.slots - this.#calls) * this.size - this.#owed.size + results.size;
    const want = wants ? Math.max(0, Math.min(free, POLL_TASKS_MAX - this.#held.size - this.#owed.size)) : 0;
    const waits = want > 0 && !results.size;
    if (!apart) this.#waits = waits;
    const head = JSON.stringify({
      worker: apart ? `${this.name}/results` : this.name,
      types: apart ? [] : [...this.performs.keys()],
      queues: this.options.queues,
      want,
      wait_ms: waits ? WAIT_MS : 0,
      holding: holding.map((each) => ({ task: each.task.task, fence: each.task.fence, ...each.far, log: said.get(each) })),
    });
    const told = Array.from(results, ([attempt, result]) => `${result},${JSON.stringify({ ...attempt.far, log: said.get(attempt) }).slice(1)}`).join();
    let answer: Required<Schemas["WorkAnswer"]>;
    // Heartbeats wait for one that goes by itself, and a stop for all of them.
    const patience = apart ? this.#beatMs(ANSWER_MS_MAX) : this.#closing ? FAREWELL_MS : ANSWER_MS_MAX;
    // Not by AbortSignal.any: in Node 20 a timeout that only that knows may be collected, and never comes.
    const timer = setTimeout(() => overtaken.abort(new DOMException("it took too long", "TimeoutError")), patience);
    try {
      const body = `${head.slice(0, -1)},"results":[${told}]}`;
      answer = (await this.client.sendOnce("POST", "/v1/work", body, overtaken.signal)) as typeof answer;
      if (!answer.tasks) throw new SignallerError("not_signaller", `the server at ${this.client.url} is no Signaller`, 200);
      this.#isKnown = true;
    } catch (error) {
      if (this.#closing && waits) return;
      for (const [attempt, lines] of said) attempt.lines.unshift(...lines);
      return this.#rest(error);
    } finally {
      clearTimeout(timer);
    }
    let unkept: SignallerError | undefined;
    for (const [at, [attempt, result]] of [...results].entries()) {
      const { ok, code, message } = answer.results[at]!;
      this.#owed.delete(attempt);
      if (code === "unavailable") {
        this.#owed.set(attempt, result); // It is told again, after the others.
        unkept = new SignallerError(code, `a result cannot be kept now: ${message}`, 503);
      } else if (!ok) this.#say(() => `the result of ${attempt.task.task} was not taken: ${message}`);
      if (code === "invalid") this.#owe(attempt, new Fail(message ?? "", { code: "result_refused" }));
    }
    for (const [at, { ok, cancel }] of answer.holding.entries()) {
      if (cancel && this.#held.has(holding[at]!)) holding[at]!.stop.abort(); // Its result may have been taken meanwhile.
      if (!ok) this.#held.delete(holding[at]!);
    }
    // What comes when the worker is to stop is not named by the next poll, and so goes back.
    const attempts = this.#closing ? [] : answer.tasks.map((task) => new Attempt(task));
    for (let first = 0; first < attempts.length; first += this.size) void this.#start(attempts.slice(first, first + this.size));
    this.#inVain = waits && attempts.length === 0;
    if (unkept) return this.#rest(unkept);
    this.#tried = 0;
  }

  /** Until the next try, if there is one. */
  #rest(error: unknown): Promise<void> {
    this.#tried += 1;
    const isFarewell = this.#closing && !this.#held.size && performance.now() - this.#triesSince > FAREWELL_MS;
    // What has been one is no Signaller for a while, if somebody between them answers instead.
    const mayPass = error instanceof SignallerError && (error.retryable || (this.#isKnown && error.code === "not_signaller"));
    if (!mayPass || isFarewell) throw error;
    if (this.#tried === 1) this.#say(() => `${error.message}; trying again`);
    return sleep(error.waitMs(this.#tried, this.#beatMs(AGAIN_MS_MAX)));
  }

  async #start(attempts: Attempt[]): Promise<void> {
    for (const attempt of attempts) this.#held.add(attempt);
    this.#calls += 1;
    let outcomes: readonly unknown[];
    try {
      outcomes = await this.performs.get(attempts[0]!.task.type)!(attempts.map(({ context }) => context));
    } catch (error) {
      outcomes = attempts.map(() => (error instanceof Error ? error : new Error(text(error, 2_000))));
    }
    this.#calls -= 1;
    for (const [at, attempt] of attempts.entries()) if (this.#held.has(attempt)) this.#owe(attempt, outcomes[at]);
    this.#wake.abort();
  }

  #owe(attempt: Attempt, outcome: unknown): void {
    this.#held.delete(attempt);
    this.#owed.set(attempt, attempt.result(outcome));
    this.#triesSince = performance.now();
    this.#wake.abort();
    if (outcome instanceof Error && !(outcome instanceof Fail || attempt.stop.signal.aborted)) {
      this.#say(() => `${attempt.task.task} of type ${attempt.task.type} failed: ${outcome.stack}`);
    }
  }

  /** For people: that it cannot be said stops nothing. */
  #say(line: () => string): void {
    try {
      this.options.log(line());
    } catch {}
  }
}
