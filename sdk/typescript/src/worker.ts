/** A worker: functions that do the work of tasks. */

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type Call, type Context, Crew } from "./crew.js";
import { Http, type Place } from "./http.js";

export interface WorkerOptions extends Place {
  /** Used by no other worker; without one it is made of host, process and chance. */
  name?: string;
  /** Tasks at once, batches apart: 10. */
  concurrency?: number;
  /** Only from these. */
  queues?: string[];
  /** How long what runs may take when the worker is to stop; then it is handed back: 25,000. */
  stopLimitMs?: number;
  /** Whether SIGTERM and Ctrl-C stop it: true. */
  signals?: boolean;
  /** Where it says what happened to it: stderr. */
  log?: (line: string) => void;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Does the work of tasks: `worker.task("greet", …)` says how, `worker.run()` goes on until it is told to stop. */
export class Worker {
  readonly name: string;
  readonly #options: WorkerOptions;
  readonly #http: Http;
  readonly #concurrency: number;
  readonly #tasks = new Map<string, Call>();
  readonly #batches = new Map<string, { size: number; call: Call }>();
  #crews: Crew[] = [];
  #stops = 0;

  constructor(options: WorkerOptions = {}) {
    this.#options = options;
    this.#http = new Http(options);
    this.#concurrency = bounded("concurrency", options.concurrency ?? 10);
    const host = hostname().replace(/[^A-Za-z0-9._-]/g, "").slice(0, 60) || "worker";
    this.name = options.name ?? `${host}-${process.pid}-${randomBytes(2).toString("hex")}`;
  }

  /** What the function returns is the output, as JSON. */
  task<Input = any>(type: string, perform: (input: Input, context: Context<Input>) => unknown): this {
    this.#new(type);
    this.#tasks.set(type, async ([context]) => [await perform(context!.input, context!)]);
    return this;
  }

  /**
   * The function gets a list of inputs, as many as there are up to `size` (32), and returns a list with an output for each,
   * or an `Error` in the place of one that failed.
   */
  batch<Input = any>(
    type: string,
    options: { size?: number },
    perform: (inputs: Input[], contexts: Context<Input>[]) => readonly unknown[] | Promise<readonly unknown[]>,
  ): this {
    this.#new(type);
    const size = bounded("size", options.size ?? 32);
    const call: Call = async (contexts) => {
      const outputs: unknown = await perform(contexts.map((context) => context.input), contexts);
      if (Array.isArray(outputs) && outputs.length === contexts.length) return outputs;
      throw new TypeError(`a batch of ${contexts.length} tasks of type \`${type}\` needs a list of as many outputs`);
    };
    this.#batches.set(type, { size, call });
    return this;
  }

  /** Works until SIGTERM, Ctrl-C or `stop()`. Rejects with a `SignallerError` if the server will not have this worker. */
  async run(): Promise<void> {
    if (this.#tasks.size + this.#batches.size === 0) throw new TypeError("this worker has nothing to do: say how with worker.task");
    const { queues = [], log = (line) => console.error(`signaller: ${line}`), signals = true } = this.#options;
    const all = { http: this.#http, queues, log };
    const crews = [...this.#batches].map(
      ([type, { size, call }], at) => new Crew({ ...all, name: `${this.name}/${at + 1}`, calls: new Map([[type, call]]), slots: 1, size }),
    );
    if (this.#tasks.size) crews.push(new Crew({ ...all, name: this.name, calls: this.#tasks, slots: this.#concurrency, size: 1 }));
    this.#crews = crews;
    const stop = (): void => this.stop();
    if (signals) for (const name of SIGNALS) process.on(name, stop);
    try {
      const working = crews.map((crew) => crew.work());
      if (this.#stops) this.#close();
      // One that is refused for good ends the others: they hand back what they hold.
      for (const work of working) work.catch(() => crews.forEach((crew) => crew.close(0)));
      for (const ended of await Promise.allSettled(working)) if (ended.status === "rejected") throw ended.reason;
    } finally {
      for (const name of SIGNALS) process.off(name, stop);
      [this.#crews, this.#stops] = [[], 0];
    }
  }

  /** Takes nothing more on and lets what runs finish; the second time, hands it back. */
  stop(): void {
    this.#stops += 1;
    this.#close();
  }

  #close(): void {
    for (const crew of this.#crews) crew.close(this.#stops === 1 ? (this.#options.stopLimitMs ?? 25_000) : 0);
  }

  #new(type: string): void {
    if (this.#tasks.has(type) || this.#batches.has(type)) throw new TypeError(`this worker has a function for type \`${type}\` already`);
  }
}

function bounded(what: string, number: number): number {
  if (Number.isInteger(number) && number >= 1 && number <= 1_000) return number;
  throw new RangeError(`${what} is ${number}; it must be a whole number between 1 and 1000`);
}
