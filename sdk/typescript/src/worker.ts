/** A worker: functions that do the work of tasks. */

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Context } from "./attempt.js";
import { Client, type ClientOptions } from "./client.js";
import { Crew, type Perform } from "./crew.js";

export interface WorkerOptions extends Omit<ClientOptions, "timeoutMs"> {
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
  /** By the name they are asked for under: batches have one each. */
  readonly #groups = new Map<string, { size: number; performs: Map<string, Perform> }>();
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
    return this.#take(type, 0, async ([context]) => [await perform(context!.input, context!)]);
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
    return this.#take(type, bounded("size", options.size ?? 32), async (contexts) => {
      const outputs: unknown = await perform(contexts.map(({ input }) => input), contexts);
      if (Array.isArray(outputs) && outputs.length === contexts.length) return outputs;
      throw new TypeError(`a batch of ${contexts.length} tasks of type \`${type}\` needs a list of as many outputs`);
    });
  }

  /** Works until SIGTERM, Ctrl-C or `stop()`. Rejects with a `SignallerError` if the server will not have this worker. */
  async run(): Promise<void> {
    if (!this.#groups.size) throw new TypeError("this worker has nothing to do: say how with worker.task");
    const { queues = [], log = (line) => console.error(`signaller: ${line}`), signals = true } = this.#options;
    this.#crews = Array.from(this.#groups, ([name, { size, performs }]) => {
      const slots = name === this.name ? this.#concurrency : 1;
      return new Crew(this.#client, name, performs, slots, size, { queues, log });
    });
    const stop = (): void => this.stop();
    if (signals) for (const signal of SIGNALS) process.on(signal, stop);
    try {
      if (this.#stops) this.#close();
      const working = this.#crews.map((crew) => crew.work());
      // If one is refused for good, the others hand back what they hold.
      for (const work of working) work.catch(() => this.#crews.forEach((crew) => crew.close(0)));
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

  /** `size`: of batches, or 0. */
  #take(type: string, size: number, perform: Perform): this {
    const groups = [...this.#groups.values()];
    if (groups.some(({ performs }) => performs.has(type))) throw new TypeError(`this worker has a function for type \`${type}\` already`);
    const name = size ? `${this.name}/${groups.length + 1}` : this.name;
    const performs = this.#groups.get(name)?.performs ?? new Map<string, Perform>();
    this.#groups.set(name, { size: size || 1, performs: performs.set(type, perform) });
    return this;
  }
}

function bounded(what: string, number: number): number {
  if (Number.isInteger(number) && number >= 1 && number <= 1_000) return number;
  throw new RangeError(`${what} is ${number}; it must be a whole number between 1 and 1000`);
}
