/** A worker: functions that do the work of tasks. */

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Context } from "./attempt.js";
import { Client, type ClientOptions } from "./client.js";
import { Crew, type Perform } from "./crew.js";

export interface WorkerOptions extends ClientOptions {
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

/** The server's bound is 128, and `/12/results` may be added. */
const NAME_BYTES_MAX = 110;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Does the work of tasks: `worker.task("greet", …)` says how, `worker.run()` goes on until it is told to stop. */
export class Worker {
  readonly name: string;
  readonly #options: WorkerOptions;
  readonly #client: Client;
  readonly #concurrency: number;
  readonly #tasks = new Map<string, Perform>();
  readonly #batches = new Map<string, { size: number; perform: Perform }>();
  #crews: Crew[] = [];
  #stops = 0;

  constructor(options: WorkerOptions = {}) {
    this.#options = options;
    this.#client = new Client(options);
    this.#concurrency = bounded("concurrency", options.concurrency ?? 10);
    const host = hostname().replace(/[^A-Za-z0-9._-]/g, "").slice(0, 60) || "worker";
    this.name = options.name ?? `${host}-${process.pid}-${randomBytes(2).toString("hex")}`;
    if (Buffer.byteLength(this.name) > NAME_BYTES_MAX) throw new RangeError(`name \`${this.name}\` is longer than ${NAME_BYTES_MAX} bytes`);
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
    const all: Perform = async (contexts) => {
      const outputs: unknown = await perform(contexts.map(({ input }) => input), contexts);
      if (Array.isArray(outputs) && outputs.length === contexts.length) return outputs;
      throw new TypeError(`a batch of ${contexts.length} tasks of type \`${type}\` needs a list of as many outputs`);
    };
    this.#batches.set(type, { size, perform: all });
    return this;
  }

  /** Works until SIGTERM, Ctrl-C or `stop()`. Rejects with a `SignallerError` if the server will not have this worker. */
  async run(): Promise<void> {
    if (this.#tasks.size + this.#batches.size === 0) throw new TypeError("this worker has nothing to do: say how with worker.task");
    const { queues = [], log = (line) => console.error(`signaller: ${line}`), signals = true } = this.#options;
    const crew = (name: string, performs: Map<string, Perform>, slots: number, size: number): Crew =>
      new Crew(this.#client, name, performs, slots, size, { queues, log });
    const batches = [...this.#batches].entries();
    const crews = Array.from(batches, ([at, [type, { size, perform }]]) => crew(`${this.name}/${at + 1}`, new Map([[type, perform]]), 1, size));
    if (this.#tasks.size) crews.push(crew(this.name, this.#tasks, this.#concurrency, 1));
    this.#crews = crews;
    const stop = (): void => this.stop();
    if (signals) for (const signal of SIGNALS) process.on(signal, stop);
    try {
      if (this.#stops) this.#close();
      const working = crews.map((crew) => crew.work());
      // If one is refused for good, the others hand back what they hold.
      for (const work of working) work.catch(() => crews.forEach((crew) => crew.close(0)));
      await Promise.allSettled(working);
      await Promise.all(working);
    } finally {
      for (const signal of SIGNALS) process.off(signal, stop);
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
