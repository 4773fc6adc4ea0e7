/** Nothing is lost and nothing counts twice: the server, the worker and the connection between them are killed. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../src/index.js";
import { House, LONG_MS, lossy } from "./house.js";

const SLOW = `
import { Worker } from "signaller";

const [name, stopLimitMs] = process.argv.slice(2);
const worker = new Worker({ name, concurrency: 2, stopLimitMs: Number(stopLimitMs), log: () => {} });
worker.task("slow", async (input, { task }) => {
  console.log(task);
  await new Promise((ended) => setTimeout(ended, input));
  return name;
});
await worker.run();
console.log("over");
process.exit();
`;
const OFTEN = { attempts: 10, backoff_ms: 0, jitter_percent: 0 };

describe("when something is killed", { timeout: 4 * LONG_MS }, () => {
  let house: House;
  beforeEach(async () => {
    house = await House.start();
  });
  afterEach(() => house.end());

  /** It ran once, it counts once, and this is its output. */
  async function once(task: string, output: unknown): Promise<void> {
    assert.deepEqual(await house.ended(task), ["done", output]);
    assert.deepEqual([(await house.counted(task))["task_done"], (await house.client.tasks.show(task)).attempt], [1, 1], task);
  }

  it("nothing is lost or counted twice though the server is killed under load", async () => {
    const done = new Map<number, number>();
    const count = (n: number): number => (done.set(n, (done.get(n) ?? 0) + 1), n);
    const worker = house.worker({ concurrency: 8 });
    worker.task<number>("count", async (input) => {
      await sleep(2);
      return count(input);
    });
    worker.batch<number>("many", { size: 16 }, (inputs) => inputs.map(count));
    void house.work(worker);
    const adding = (async () => {
      const client = new Client({ url: house.url, timeoutMs: LONG_MS });
      const added: string[] = [];
      for (let first = 0; first < 400; first += 10) {
        const type = first % 20 ? "count" : "many";
        const { tasks } = await client.tasks.addMany(Array.from({ length: 10 }, (_, n) => ({ type, input: first + n })));
        added.push(...tasks.map(({ task }) => task));
      }
      return added;
    })();
    for (const share of [50, 150, 250]) {
      await house.until("some are done", () => done.size >= share);
      await house.server.end("SIGKILL");
      await house.startServer();
    }
    const added = await adding;
    for (const [n, task] of added.entries()) await once(task, n);
    assert.deepEqual([...done.values()], Array(400).fill(1));
    const listed = await house.client.tasks.list({ limit: 1000 });
    assert.deepEqual([listed.tasks.length, new Set(added).size, done.size], [400, 400, 400]);
  });

  it("a result whose answer is lost is told again and counts once", async () => {
    const done: number[] = [];
    void house.work(house.worker({ url: await house.door(lossy()), concurrency: 4 }).task<number>("count", (input) => (done.push(input), input)));
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    const tasks = await Promise.all(numbers.map((n) => house.add("count", n)));
    for (const [n, task] of tasks.entries()) await once(task, n);
    assert.deepEqual(done.sort((a, b) => a - b), numbers);
  });

  it("a server that stops and comes back gets the result", async () => {
    let [begun, go] = [false, () => {}];
    const gone = new Promise<void>((resolve) => (go = resolve));
    void house.work(house.worker({ concurrency: 2 }).task("wait", async () => ((begun = true), await gone, "kept")));
    const task = await house.add("wait");
    await house.until("it runs", () => begun);
    await house.server.end("SIGTERM");
    go();
    await house.startServer();
    assert.deepEqual(await house.ended(task), ["done", "kept"]);
    assert.equal((await house.client.tasks.show(task)).attempt, 1);
  });

  it("another worker does the work of one that was killed", async () => {
    await house.queue("slow", { heartbeat_ms: 500, retry: OFTEN });
    const task = await house.add("slow", 300);
    const first = await house.program(SLOW, "first", "10000");
    assert.equal(await first.line(), task);
    await first.end("SIGKILL");
    await house.program(SLOW, "second", "10000");
    assert.deepEqual(await house.ended(task), ["done", "second"]);
    assert.equal((await house.counted(task))["task_done"], 1);
  });

  it("a worker that was frozen is fenced, and goes on", async () => {
    await house.queue("slow", { heartbeat_ms: 500, retry: OFTEN });
    const task = await house.add("slow", 1_000);
    const frozen = await house.program(SLOW, "frozen", "10000");
    assert.equal(await frozen.line(), task);
    frozen.child.kill("SIGSTOP");
    const other = await house.program(SLOW, "other", "10000");
    assert.deepEqual(await house.ended(task), ["done", "other"]);
    assert.equal(await other.end("SIGTERM"), 0);
    frozen.child.kill("SIGCONT");
    assert.deepEqual(await house.ended(await house.add("slow", 0)), ["done", "frozen"]);
    assert.deepEqual([await house.ended(task), (await house.counted(task))["task_done"]], [["done", "other"], 1]);
  });

  it("a worker that is to stop finishes or hands back", async () => {
    for (const [name, limit, ms] of [["finishes", "20000", 500], ["hands-back", "100", 60_000]] as const) {
      const task = await house.add("slow", ms);
      const worker = await house.program(SLOW, name, limit);
      assert.equal(await worker.line(), task);
      assert.equal(await worker.end("SIGTERM"), 0);
      assert.equal(await worker.line(), "over");
      const { status, output, attempt } = await house.client.tasks.show(task);
      if (name === "finishes") assert.deepEqual([status, output, attempt], ["done", name, 1]);
      else await house.handedBack(task);
      assert.deepEqual(await house.workers(), []);
    }
  });

  it("who hears of the end twice hands back at once", async () => {
    const task = await house.add("slow", 60_000);
    const worker = await house.program(SLOW, "twice", "600000");
    assert.equal(await worker.line(), task);
    worker.child.kill("SIGINT");
    assert.equal(await worker.end("SIGTERM"), 0);
    assert.equal((await house.client.tasks.show(task)).status, "queued");
  });
});
