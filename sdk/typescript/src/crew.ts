/**
 * What one name of a worker holds and owes, and its talk with the server: POST /v1/work, again and again.
 *
 * Every lease whose end the server has not taken is in every poll, as a result or as held: one in neither is taken back. One
 * poll is under way at a time. While it waits, results do not wait with it: they go by themselves, under a name that holds
 * nothing, because the fence alone decides whether they count. A poll that asks for nothing only listens, for word that
 * something should stop. It can be given no task, so the next poll may overtake it.
 */

import type { components } from "./api.js";
import { Fail, SignallerError, told } from "./errors.js";
import type { Http } from "./http.js";

type Schemas = components["schemas"];
type Answer = Required<Schemas["WorkAnswer"]>;
type Result = Omit<Schemas["WorkResult"], "task" | "fence">;

const PAYLOAD_BYTES_MAX = 256 * 1024;
const POLL_TASKS_MAX = 1_000;
/** Results beyond this wait for the next poll, as held. */
const POLL_RESULTS_LENGTH = 512 * 1024;
const WAIT_MS = 20_000;
/** Beyond the wait it asked for, a poll is given up after so long. */
const ANSWER_MS_MAX = 10_000;
/** What takes less is over before there is anything to hear of it. */
const LISTEN_AFTER_MS = 500;
/** A poll has reached the server after so long. One that came there later would not name what the next was given. */
const SETTLED_MS = 200;
const [RETRY_MS_FIRST, RETRY_MS_MAX] = [100, 5_000];
/** A worker that is to stop waits so long for a server that went away. */
const FAREWELL_MS = 10_000;
/** What is aborted to be handed back gets so long to clean up. */
const GRACE_MS = 2_000;

/** One attempt at a task: what it is, and whether it should stop. */
export interface Context<Input = any> extends Omit<Schemas["WorkTask"], "input"> {
  input: Input;
  /** Aborted when it was cancelled, its time is over, or its lease is lost: stop, what comes of it does not count. */
  signal: AbortSignal;
  /** From 0 to 1, told with the next heartbeat. */
  progress(share: number): void;
}

/** An outcome for each: a value, or an error. */
export type Call = (contexts: Context[]) => Promise<unknown[]>;

interface Lease {
  context: Context;
  stop: AbortController;
  heartbeatMs: number;
  progress: number | undefined;
  /** Why its function ends, if not by itself. */
  fate: "stopped" | "released" | undefined;
  /** As JSON, once there is one. */
  result: string;
  status: string;
  telling: boolean;
  /** The server no longer knows it, while its result is on the way: that has come, or does not count. */
  gone: boolean;
}

interface Poll {
  sent: number;
  want: number;
  waitMs: number;
  results: Lease[];
  holding: Lease[];
}

export interface CrewOptions {
  http: Http;
  name: string;
  queues: string[];
  calls: Map<string, Call>;
  slots: number;
  /** Tasks that one call takes. */
  size: number;
  log: (line: string) => void;
}

export class Crew {
  readonly #leases = new Set<Lease>();
  #running = 0;
  #asking: Poll | undefined;
  #telling: Poll | undefined;
  #closing = false;
  #left = false;
  #away = false;
  #askAt = 0;
  #retryAt = 0;
  #retryMs = RETRY_MS_FIRST;
  #heardAt = 0;
  #giveUpAt = 0;
  #alarm: NodeJS.Timeout | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #underWay = new Set<AbortController>();
  #woken = false;
  #over = false;
  #settle: (error?: Error) => void = () => {};

  constructor(readonly options: CrewOptions) {}

  work(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = (error) => (error ? reject(error) : resolve());
      this.#wake();
    });
  }

  /** Takes nothing more on; what still runs after `limitMs` is handed back. */
  close(limitMs: number): void {
    this.#closing = true;
    this.#giveUpAt = performance.now() + FAREWELL_MS;
    this.#timers.add(setTimeout(() => this.#handBack(), limitMs));
    this.#wake();
  }

  #handBack(): void {
    for (const lease of this.#leases) {
      if (lease.result) continue;
      lease.fate ??= "released";
      lease.stop.abort();
    }
    this.#timers.add(setTimeout(() => this.#release(this.#leases), GRACE_MS));
  }

  #release(leases: Iterable<Lease>): void {
    for (const lease of leases) {
      if (lease.result) continue;
      this.options.log(`${lease.context.task} is handed back`);
      this.#owe(lease, { status: "released" });
    }
  }

  #end(error?: Error): void {
    clearTimeout(this.#alarm);
    this.#timers.forEach(clearTimeout);
    this.#over = true;
    for (const poll of this.#underWay) poll.abort();
    for (const lease of this.#leases) lease.stop.abort();
    this.#settle(error);
  }

  // ---- Polls --------------------------------------------------------------------------------------------------------

  /** Looks at what is due, when what is going on is over. */
  #wake(): void {
    if (!this.#woken) setImmediate(() => this.#look());
    this.#woken = true;
  }

  #look(): void {
    this.#woken = false;
    if (this.#over) return;
    const now = performance.now();
    if (this.#closing && this.#leases.size === 0 && (this.#left || now >= this.#giveUpAt)) return this.#end();
    const due = now < this.#retryAt ? this.#retryAt : this.#step(now);
    clearTimeout(this.#alarm);
    this.#alarm = setTimeout(() => this.#look(), Math.max(1, Math.ceil(due - now)));
  }

  /** Sends what is due, and says when to look again if nothing happens before. */
  #step(now: number): number {
    const leases = [...this.#leases];
    const owes = leases.some((lease) => lease.result && !lease.telling);
    const places = Math.min((this.options.slots - this.#running) * this.options.size, POLL_TASKS_MAX - leases.length);
    const free = this.#closing ? 0 : Math.max(places, 0);
    const beat = Math.min(3 * WAIT_MS, ...leases.map((lease) => lease.heartbeatMs)) / 3;
    const listenAt = this.#heardAt + Math.min(LISTEN_AFTER_MS, beat);
    const [asking, never] = [this.#asking, now + WAIT_MS];
    if (!asking) {
      if (owes || (this.#closing && leases.length === 0)) this.#poll(now, free, 0);
      else if (free && now >= this.#askAt) this.#poll(now, free, Math.min(WAIT_MS, beat));
      else if (leases.length && now >= listenAt) this.#poll(now, 0, Math.min(WAIT_MS, beat));
      else return Math.min(leases.length ? listenAt : never, free ? this.#askAt : never);
    } else if (asking.waitMs) {
      const [settled, onlyListens] = [asking.sent + SETTLED_MS, asking.want === 0];
      const over = this.#closing && (asking.want > 0 || leases.length === 0);
      if (over || (onlyListens && (owes || free) && now >= settled)) {
        this.#poll(now, free, 0); // What the other one brings is no longer ours.
      } else if (owes && !this.#telling) {
        const poll = { sent: now, want: 0, waitMs: 0, results: this.#results(), holding: [] };
        this.#telling = poll;
        void this.#send(poll, `${this.options.name}/results`);
      }
      if (onlyListens && free && now < settled) return settled;
    }
    return never;
  }

  #poll(now: number, want: number, waitMs: number): void {
    const results = this.#results();
    const chosen = new Set(results);
    const holding = [...this.#leases].filter((lease) => !chosen.has(lease) && !lease.gone);
    const poll = { sent: now, want, waitMs: Math.floor(waitMs), results, holding };
    this.#asking = poll;
    void this.#send(poll, this.options.name);
  }

  #results(): Lease[] {
    const chosen: Lease[] = [];
    let length = 0;
    for (const lease of this.#leases) {
      if (!lease.result || lease.telling) continue;
      length += lease.result.length;
      if (chosen.length && length > POLL_RESULTS_LENGTH) break;
      lease.telling = true;
      chosen.push(lease);
    }
    return chosen;
  }

  async #send(poll: Poll, worker: string): Promise<void> {
    const { http, calls, queues } = this.options;
    const holding = poll.holding.map(({ context: { task, fence }, progress }) => ({ task, fence, progress }));
    const head = { worker, types: [...calls.keys()], queues, want: poll.want, wait_ms: poll.waitMs, holding };
    const body = `${JSON.stringify(head).slice(0, -1)},"results":[${poll.results.map((lease) => lease.result).join(",")}]}`;
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(new Error("it took too long")), poll.waitMs + ANSWER_MS_MAX);
    this.#underWay.add(patience);
    let answer: Answer | undefined, error: unknown;
    try {
      answer = (await http.send("POST", "/v1/work", body, patience.signal)) as Answer;
    } catch (thrown) {
      error = thrown;
    }
    clearTimeout(timer);
    this.#underWay.delete(patience);
    if (this.#over) return;
    const [asked, toldApart] = [poll === this.#asking, poll === this.#telling];
    if (asked) this.#asking = undefined;
    if (toldApart) this.#telling = undefined;
    // What it told is told again unless it was taken.
    for (const lease of poll.results) lease.telling = false;
    if (!asked && !toldApart) return;
    if (answer) {
      this.#left = asked && poll.want === 0 && poll.holding.length === 0;
      try {
        this.#hear(poll, answer);
      } catch (unread) {
        this.#end(new SignallerError("not_signaller", `this is no answer to a worker: ${unread}`, 200));
      }
    } else {
      this.#unheard(error);
    }
    this.#wake();
  }

  #unheard(error: unknown): void {
    const now = performance.now();
    if (!(error instanceof SignallerError && error.retryable)) {
      this.#end(error as Error);
    } else if (this.#closing && now >= this.#giveUpAt && this.#running === 0) {
      this.options.log(`${error.message}; what this worker still held goes to another when its lease lapses`);
      this.#leases.clear();
    } else {
      if (!this.#away) this.options.log(`${error.message}; trying again`);
      this.#away = true;
      this.#retryAt = now + Math.max(this.#retryMs * (0.5 + Math.random() / 2), error.retryAfterMs);
      this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
    }
  }

  #hear(poll: Poll, answer: Answer): void {
    const now = performance.now();
    if (this.#away) this.options.log("the server answers again");
    [this.#away, this.#retryMs, this.#heardAt] = [false, RETRY_MS_FIRST, now];
    poll.results.forEach((lease, at) => this.#taken(lease, answer.results[at]!));
    poll.holding.forEach((lease, at) => this.#held(lease, answer.holding[at]!));
    const leases = answer.tasks.map((task) => this.#lease(task));
    if (answer.stopping) this.#askAt = now + 500 + 500 * Math.random();
    // It was answered at once, with nothing.
    else if (!leases.length && now < poll.sent + poll.waitMs / 2 && answer.holding.every((held) => held.ok)) {
      this.#askAt = now + 50 + 50 * Math.random();
    }
    if (this.#closing) this.#release(leases);
    else if (leases.length && this.options.size > 1) void this.#attempt(leases);
    else for (const lease of leases) void this.#attempt([lease]);
  }

  #taken(lease: Lease, taken: Schemas["ResultAnswer"]): void {
    if (!this.#leases.has(lease)) return;
    if (!taken.ok && taken.code !== "lease_lost" && lease.status === "done") {
      return this.#owe(lease, told(new Fail(taken.message ?? "", { code: "result_refused" })));
    }
    this.#leases.delete(lease);
    if (!taken.ok) this.options.log(`the result of ${lease.context.task} was not taken: ${taken.message}`);
  }

  #held(lease: Lease, held: Schemas["HoldingAnswer"]): void {
    if (lease.result) lease.gone = !held.ok;
    if (!this.#leases.has(lease) || lease.result) return;
    if (!held.ok) {
      this.options.log(`${lease.context.task} is stopped: its lease is lost`);
      this.#leases.delete(lease);
    } else if (held.cancel) {
      lease.fate ??= "stopped";
    } else {
      lease.heartbeatMs = held.heartbeat_ms ?? lease.heartbeatMs;
      return;
    }
    lease.stop.abort();
  }

  // ---- Attempts -----------------------------------------------------------------------------------------------------

  #lease(task: Schemas["WorkTask"]): Lease {
    const stop = new AbortController();
    const progress = (share: number): void => {
      if (share >= 0 && share <= 1) lease.progress = share;
    };
    const context = { ...task, signal: stop.signal, progress };
    const told = { progress: undefined, fate: undefined, result: "", status: "", telling: false, gone: false };
    const lease: Lease = { context, stop, heartbeatMs: task.heartbeat_ms, ...told };
    this.#leases.add(lease);
    return lease;
  }

  async #attempt(leases: Lease[]): Promise<void> {
    this.#running += 1;
    let outcomes: unknown[];
    try {
      outcomes = await this.options.calls.get(leases[0]!.context.type)!(leases.map((lease) => lease.context));
    } catch (error) {
      outcomes = leases.map(() => (error instanceof Error ? error : new Error(String(error))));
    }
    this.#running -= 1;
    this.#giveUpAt = performance.now() + FAREWELL_MS;
    leases.forEach((lease, at) => {
      if (this.#leases.has(lease) && !lease.result) this.#owe(lease, this.#result(lease, outcomes[at]));
    });
    this.#wake();
  }

  #result(lease: Lease, outcome: unknown): Result {
    if (!(outcome instanceof Error)) return { status: "done", output: outcome };
    if (lease.fate === "released") return { status: "released" };
    if (lease.fate === "stopped") return told(new Fail("the worker ended it on request", { code: "stopped" }));
    if (!(outcome instanceof Fail)) this.options.log(`${lease.context.task} of type ${lease.context.type} failed: ${outcome.stack}`);
    return told(outcome);
  }

  #owe(lease: Lease, result: Result): void {
    const { task, fence } = lease.context;
    let output = "";
    if (result.status === "done") {
      try {
        // What is undefined is null; a function, for example, is nothing that can be told.
        output = JSON.stringify(result.output ?? null);
        if (output === undefined) throw new TypeError(`a ${typeof result.output} is not`);
        const bytes = Buffer.byteLength(output);
        const large = `the output is ${bytes} bytes of JSON; at most ${PAYLOAD_BYTES_MAX} are allowed`;
        if (bytes > PAYLOAD_BYTES_MAX) result = told(new Fail(large, { code: "output_too_large" }));
      } catch (error) {
        result = told(new Fail(`the output is no JSON: ${(error as Error).message}`, { code: "output_not_json" }));
      }
    }
    lease.status = result.status;
    lease.result =
      result.status === "done"
        ? `${JSON.stringify({ task, fence, status: "done" }).slice(0, -1)},"output":${output}}`
        : JSON.stringify({ task, fence, ...result });
    this.#wake();
  }
}
