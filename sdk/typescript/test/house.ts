/** A real server for the tests, in a folder of its own; `SIGNALLER_BIN` says which binary. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type Schemas, Worker, type WorkerOptions } from "../src/index.js";

export const LONG_MS = 30_000;
export const PACKAGE = join(import.meta.dirname, "../..");
/** Of the repository; the tests may run in a copy elsewhere, and are told. */
export const ROOT = process.env["SIGNALLER_ROOT"] ?? join(PACKAGE, "../..");
const BIN = process.env["SIGNALLER_BIN"] ?? join(ROOT, "target/debug/signaller");

/** What is asked of a door, and how it asks the server; the answer, or nothing to hang up. An `error` is answered as one. */
export type Around = (body: any, ask: (body: unknown) => Promise<any>) => Promise<unknown>;

/** Loses the first answer to everything that is not a poll without results. */
export function lossy(): Around {
  const heard = new Set<string>();
  return async (body, ask) => {
    const answer = await ask(body);
    const told: object[] = body.worker ? body.results.map((result: object) => ({ ...result, log: [] })) : [body];
    const news = told.map((each) => JSON.stringify(each)).filter((each) => !heard.has(each));
    news.forEach((each) => heard.add(each));
    return news.length ? undefined : answer;
  };
}

/** Says of every result that it cannot be kept, until that is over; its lease is kept. */
export function refusing(isOver: () => boolean): Around {
  return async (body, ask) => {
    if (isOver()) return ask(body);
    const leases = body.results.map(({ task, fence }: { task: string; fence: string }) => ({ task, fence }));
    const answer = await ask({ ...body, results: [], holding: [...body.holding, ...leases] });
    const results = leases.map(({ task }: { task: string }) => ({ task, ok: false, code: "unavailable", message: "no room" }));
    return { ...answer, results, holding: answer.holding.slice(0, body.holding.length) };
  };
}

/** A process and the lines it says. */
export class Program {
  readonly lines: AsyncIterator<string>;
  readonly ended: Promise<unknown[]>;

  constructor(readonly child: ChildProcess) {
    this.lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    this.ended = once(child, "exit");
  }

  async line(): Promise<string | undefined> {
    const { value, done } = await this.lines.next();
    return done ? undefined : value;
  }

  /** How it ended. */
  async end(signal: NodeJS.Signals): Promise<unknown> {
    this.child.kill(signal);
    return (await this.ended)[0];
  }
}

export class House {
  readonly url: string;
  readonly client: Client;
  server!: Program;
  readonly #ends: (() => Promise<unknown>)[] = [];

  private constructor(readonly folder: string, readonly port: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.client = new Client({ url: this.url });
  }

  static async start(): Promise<House> {
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    const { port } = free.address() as { port: number };
    await new Promise((closed) => free.close(closed));
    const house = new House(await mkdtemp(join(tmpdir(), "signaller-")), port);
    await house.startServer();
    return house;
  }

  async startServer(): Promise<void> {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SIGNALLER_")));
    const args = ["--json", "serve", "--listen", `127.0.0.1:${this.port}`, "--stop-limit", "500ms"];
    this.server = new Program(
      spawn(BIN, [...args, "--data-dir", join(this.folder, "data")], { env, stdio: ["ignore", "pipe", "inherit"] }),
    );
    assert.match((await this.server.line()) ?? "", /"ready"/);
  }

  /** Ends what was started, the latest first. */
  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
    await this.server.end("SIGKILL");
    await rm(this.folder, { recursive: true });
  }

  atEnd(end: () => Promise<unknown>): void {
    this.#ends.unshift(end);
  }

  /** The address of a door to the server, which may lose or change what goes through it; what is limited, so many times, is what is only looked at. */
  async door(around: Around, limited?: object, times = Infinity): Promise<string> {
    const door = createHttpServer(async (request, response) => {
      const { method = "GET", url, socket } = request;
      let [status, text] = [200, ""];
      const ask = async (body?: unknown): Promise<any> => {
        const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
        const answered = await fetch(this.url + url, { method, ...sent });
        status = answered.status;
        return answered.json();
      };
      for await (const part of request) text += part;
      if (limited && method === "GET" && times-- > 0) return void response.writeHead(429).end(JSON.stringify({ error: limited }));
      const answer: any = method === "GET" ? await ask() : await around(JSON.parse(text), ask);
      if (answer === undefined) return void socket.destroy();
      response.writeHead(answer.error && status < 400 ? 400 : status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    }).listen(0, "127.0.0.1");
    await once(door, "listening");
    this.atEnd(async () => {
      door.close();
      door.closeAllConnections();
    });
    return `http://127.0.0.1:${(door.address() as { port: number }).port}`;
  }

  queue(name: string, config: object): Promise<unknown> {
    return this.client.queues.put(name, config as Schemas["QueueConfig"]);
  }

  async putText(method: string, path: string, body: string): Promise<void> {
    const answer = await fetch(this.url + path, { method, body, headers: { "content-type": "text/yaml" } });
    assert.equal(answer.status, 200, await answer.text());
  }

  /** A worker that ends with the house. */
  worker(options: WorkerOptions = {}): Worker {
    return new Worker({ url: this.url, signals: false, log: () => {}, ...options });
  }

  work(worker: Worker): Promise<void> {
    const running = worker.run();
    running.catch(() => {});
    this.#ends.push(() => {
      worker.stop();
      worker.stop();
      return running;
    });
    return running;
  }

  /** A script in a process of its own, which takes the package for `signaller`. */
  async program(script: string, ...args: string[]): Promise<Program> {
    const path = join(this.folder, `program-${process.hrtime.bigint()}.mjs`);
    await writeFile(path, script.replaceAll('from "signaller"', `from "${PACKAGE}/dist/src/index.js"`));
    const env = { ...process.env, SIGNALLER_URL: this.url };
    const program = new Program(spawn(process.execPath, [path, ...args], { env, stdio: ["ignore", "pipe", "inherit"] }));
    this.#ends.push(() => program.end("SIGKILL"));
    return program;
  }

  async add(type: string, input?: unknown, options: Omit<Schemas["TaskAdd"], "type"> = {}): Promise<string> {
    return (await this.client.tasks.add(type, input, options)).task;
  }

  /** How it ended, and its output or the code of its error. */
  async ended(task: string): Promise<[string, unknown]> {
    const view = await this.client.tasks.wait(task, { timeoutMs: LONG_MS });
    return [view.status, view.error ? view.error.code : (view.output ?? null)];
  }

  /** No attempt burnt. A poll that was on its way may have been given it once more, and that came back, too. */
  async handedBack(task: string): Promise<void> {
    const { status, attempt } = await this.client.tasks.show(task);
    const { task_released = 0 } = await this.counted(task);
    assert.deepEqual([status, attempt, task_released > 0], ["queued", 0, true]);
  }

  /** How often each kind of record is in its history. */
  async counted(task: string): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { record } of (await this.client.tasks.history(task)).records) {
      counts[record.record] = (counts[record.record] ?? 0) + 1;
    }
    return counts;
  }

  /** Those outside the server that it knows of. */
  async workers(): Promise<string[]> {
    const { workers } = await this.client.server.status();
    return workers.map(({ worker }) => worker).filter((name) => !name.startsWith("signaller"));
  }

  async until(what: string, look: () => unknown): Promise<void> {
    const end = performance.now() + LONG_MS;
    while (!(await look())) {
      assert.ok(performance.now() < end, `it never came: ${what}`);
      await sleep(20);
    }
  }
}
