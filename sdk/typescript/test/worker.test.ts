/** What workers do, against a real server. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type Context, Fail, Retry, SignallerError, Worker } from "../src/index.js";
import { House, LONG_MS } from "./house.js";

const ONCE_MORE = { attempts: 2, backoff_ms: 0, jitter_percent: 0 };
const RICH = { text: 'Grüße, 世界 🚂 \u0000 " \\ \u2028', n: [1.5, -3, true, null, 2 ** 53] };

const RUNS = new Map<string, number>();

/** One function for the table below: it does what its input says. */
async function behave(input: any, context: Context): Promise<unknown> {
  RUNS.set(context.task, (RUNS.get(context.task) ?? 0) + 1);
  const [what, value] = Object.entries<any>(input)[0]!;
  switch (what) {
    case "return":
      return value;
    case "large":
      return "x".repeat(value);
    case "deep":
      return Array.from({ length: value }).reduce((inner) => [inner], 0);
    case "strange": {
      const around: unknown[] = [];
      around.push(around);
      return { nothing: undefined, bigint: 7n, around, function: () => 1, half: "\ud800" }[value as string];
    }
    case "raise": {
      const mute = Object.defineProperty(new Error(), "message", { get: () => assert.fail("nothing to say") });
      throw { type: new TypeError("no"), half: new Error("no \ud800"), text: "only a text", nothing: Object.create(null), mute }[value as string];
    }
    case "fail":
      throw new Fail("for good", { code: value });
    case "again":
      throw new Fail("maybe", { code: value, retryable: true });
    case "retry":
      if (context.attempt === 1) throw new Retry("not yet", { afterMs: value });
      return context.attempt;
    case "show":
      return (context as any)[value] ?? null;
  }
  throw new assert.AssertionError({ message: what });
}

const TABLE: [input: object, status: string, said: unknown, attempt: number][] = [
  [{ return: null }, "done", null, 1],
  [{ return: RICH }, "done", RICH, 1],
  [{ large: 200_000 }, "done", "x".repeat(200_000), 1],
  [{ large: 256 * 1024 - 1 }, "failed", "output_too_large", 1],
  [{ deep: 200 }, "failed", "result_refused", 1],
  [{ deep: 100_000 }, "failed", "result_refused", 1],
  [{ strange: "nothing" }, "done", null, 1],
  [{ strange: "bigint" }, "failed", "result_refused", 1],
  [{ strange: "around" }, "failed", "result_refused", 1],
  [{ strange: "function" }, "failed", "result_refused", 1],
  [{ strange: "half" }, "failed", "result_refused", 1],
  [{ raise: "type" }, "failed", "type_error", 2],
  [{ raise: "half" }, "failed", "error", 2],
  [{ raise: "text" }, "failed", "error", 2],
  [{ raise: "nothing" }, "failed", "error", 2],
  [{ raise: "mute" }, "failed", "result_refused", 1],
  [{ fail: "no_such_order" }, "failed", "no_such_order", 1],
  [{ fail: 404 }, "failed", "404", 1],
  [{ again: "http_503" }, "failed", "http_503", 2],
  [{ retry: 50 }, "done", 2, 2],
  [{ retry: "50" }, "done", 2, 2],
  [{ retry: "soon" }, "done", 2, 2],
  [{ show: "attempt" }, "done", 1, 1],
  [{ show: "run" }, "done", null, 1],
];

describe("a worker", { timeout: 4 * LONG_MS }, () => {
  let house: House;
  before(async () => {
    house = await House.start();
  });
  after(() => house.end());

  it("makes of a task what its function does", async () => {
    // What cannot even be said in the worker's log stops nothing.
    const worker = house.worker({ concurrency: 4, log: () => assert.fail("it is not written") }).task("one", behave);
    worker.batch("many", { size: 8 }, async (inputs, contexts) => {
      const outcomes = await Promise.allSettled(inputs.map((input, at) => behave(input, contexts[at]!)));
      return outcomes.map((each) => (each.status === "fulfilled" ? each.value : each.reason instanceof Error ? each.reason : new Error()));
    });
    void house.work(worker);
    for (const type of ["one", "many"]) {
      await house.queue(type, { retry: ONCE_MORE });
      const tasks = await Promise.all(TABLE.map(([input]) => house.add(type, input)));
      for (const [at, [input, status, said, attempt]] of TABLE.entries()) {
        assert.deepEqual(await house.ended(tasks[at]!), [status, said], `${type} ${JSON.stringify(input)}`);
        const counted = [(await house.client.tasks.show(tasks[at]!)).attempt, RUNS.get(tasks[at]!)];
        assert.deepEqual(counted, [attempt, attempt], `${type} ${JSON.stringify(input)}`);
      }
    }
  });

  it("takes many tasks in one call", async () => {
    const sizes: number[] = [];
    const worker = house.worker().batch<number>("embed", { size: 8 }, (inputs) => {
      sizes.push(inputs.length);
      return inputs.map((n) => ({ n }));
    });
    worker.batch("short", {}, (inputs) => inputs.slice(1));
    worker.batch("broken", {}, () => {
      throw new Fail("all of them", { code: "no_model" });
    });
    await house.queue("short", { retry: { attempts: 1 } });
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const { tasks: added } = await house.client.tasks.addMany(numbers.map((input) => ({ type: "embed", input })));
    const others = [await house.add("short"), await house.add("broken")];
    void house.work(worker);
    for (const [n, { task }] of added.entries()) assert.deepEqual(await house.ended(task), ["done", { n }]);
    assert.deepEqual([(await house.ended(others[0]!))[1], (await house.ended(others[1]!))[1]], ["type_error", "no_model"]);
    assert.deepEqual([sizes.reduce((a, b) => a + b), Math.max(...sizes)], [50, 8]);
  });

  it("runs no more at once than it may", async () => {
    let [now, most] = [0, 0];
    const worker = house.worker({ concurrency: 3 }).task("count", async () => {
      most = Math.max(most, ++now);
      await sleep(10);
      now -= 1;
    });
    void house.work(worker);
    const tasks = await Promise.all(Array.from({ length: 40 }, () => house.add("count")));
    for (const task of tasks) assert.deepEqual(await house.ended(task), ["done", null]);
    assert.equal(most, 3);
  });

  for (const concurrency of [1, 4]) {
    it(`tells a function with ${concurrency} places that its task was cancelled or has no time left`, async () => {
      const said: string[] = [];
      const type = `endless-${concurrency}`;
      const worker = house.worker({ concurrency }).task(type, async (_, { signal }) => {
        said.push("began");
        await sleep(3_600_000, undefined, { signal }).catch(() => said.push("ended"));
        signal.throwIfAborted();
      });
      await house.queue(type, { retry: { attempts: 1 } });
      void house.work(worker);
      const task = await house.add(type);
      await house.until("it runs", () => said.length === 1);
      await house.client.tasks.cancel(task, { reason: "not needed" });
      await house.until("it ends", () => said.length === 2);
      assert.equal((await house.ended(task))[0], "cancelled");
      await house.until("its lease ends", async () => !(await house.client.tasks.show(task)).lease);
      assert.deepEqual(await house.ended(await house.add(type, null, { budget_ms: 200 })), ["failed", "timed_out"]);
    });
  }

  it("aborts what it hands back, and takes its leave", async () => {
    const said: string[] = [];
    const worker = house.worker({ name: "leaving", stopLimitMs: 50 }).task("left", async (_, { signal }) => {
      said.push("began");
      await sleep(3_600_000, undefined, { signal }).finally(() => said.push("ended"));
    });
    const isThere = async (): Promise<boolean> => (await house.workers()).includes("leaving");
    for (const count of [0, 1]) {
      const tasks = count ? [await house.add("left")] : [];
      const running = worker.run();
      await house.until("it is there", async () => (await isThere()) && said.length === tasks.length);
      worker.stop();
      await running;
      assert.equal(await isThere(), false);
      for (const task of tasks) {
        const { status, attempt } = await house.client.tasks.show(task);
        assert.deepEqual([said, status, attempt], [["began", "ended"], "queued", 0]);
      }
    }
  });

  it("hands back what ends early to be handed back, whatever it returns", async () => {
    let begun = (): void => {};
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const worker = house.worker({ stopLimitMs: 50 }).task("early", async (_, { signal }) => {
      begun();
      await sleep(3_600_000, undefined, { signal }).catch(() => {});
      return "partial";
    });
    const task = await house.add("early");
    const running = worker.run();
    await hasBegun;
    worker.stop();
    await running;
    const { status, attempt } = await house.client.tasks.show(task);
    assert.deepEqual([status, attempt], ["queued", 0]);
  });

  it("keeps what a function says as the log of its task", async () => {
    let go = (): void => {};
    const gone = new Promise<void>((resolve) => (go = resolve));
    const worker = house.worker().task("talk", async (_, { log, progress }) => {
      progress(NaN);
      log("begun \ud800");
      await gone;
      for (let line = 0; line < 1_000; line++) log(`${line} ${"x".repeat(10_000)}`);
      progress(0.9, "row 9 \ud800");
    });
    await house.queue("talk", { heartbeat_ms: 3_000 });
    void house.work(worker);
    const task = await house.add("talk");
    const said = async (): Promise<string[]> => {
      const { lines } = await house.client.tasks.log(task);
      return lines.map(({ text }) => text.slice(0, 6));
    };
    await house.until("it says something", async () => (await said()).length);
    go();
    assert.deepEqual(await house.ended(task), ["done", null]);
    const lines = await said();
    assert.deepEqual([lines.length, lines[0], lines[1], lines[100]], [101, "begun ", "900 xx", "999 xx"]);
    const { progress: far } = await house.client.tasks.log(task);
    assert.deepEqual([far?.progress, far?.message], [0.9, "row 9 \ufffd"]);
  });

  it("keeps its leases by heartbeats, whether or not it is full", async () => {
    for (const concurrency of [1, 4]) {
      await house.queue(`slow-${concurrency}`, { heartbeat_ms: 1_000, retry: ONCE_MORE });
      const worker = house.worker({ concurrency }).task(`slow-${concurrency}`, async (_, context) => {
        for (let step = 0; step < 25; step++) {
          context.progress(step / 25);
          await sleep(100);
        }
        return context.attempt;
      });
      void house.work(worker);
    }
    for (const task of [await house.add("slow-1"), await house.add("slow-4")]) assert.deepEqual(await house.ended(task), ["done", 1]);
  });

  it("drops the result of a lease that it lost, and goes on", async () => {
    const [begun, ended]: [string[], string[]] = [[], []];
    const worker = house.worker({ name: "shared", concurrency: 1 }).task("stolen", async (_, { fence, signal }) => {
      begun.push(fence);
      if (begun.length === 1) await sleep(3_600_000, undefined, { signal }).catch(() => {});
      ended.push(fence);
      return ended.length;
    });
    await house.queue("stolen", { heartbeat_ms: 600, retry: ONCE_MORE });
    void house.work(worker);
    const task = await house.add("stolen");
    await house.until("it runs", () => begun.length);
    // Somebody else takes this name, and does not know of the task.
    await house.client.request("POST", "/v1/work", { body: { worker: "shared", types: [] } });
    assert.deepEqual(await house.ended(task), ["done", 2]);
    assert.deepEqual([new Set(begun).size, begun], [2, ended]);
  });

  it("says of a run and of an event that its work is theirs", async () => {
    const seen: Context[] = [];
    const worker = house.worker().task("look", (input, context) => (seen.push(context), input));
    await house.putText("PUT", "/v1/registry", "handlers:\n  look: {on: order/paid, task: look}\n");
    await house.putText("POST", "/v1/workflows", "workflow: one\nnodes: {first: {type: look, with: {n: '${input.n}'}}}\n");
    void house.work(worker);
    const { run } = await house.client.runs.start("one", { n: 7 });
    assert.equal((await house.client.runs.wait(run, { timeoutMs: LONG_MS })).status, "done");
    const { event } = await house.client.emit("order/paid", { order: 1 });
    await house.until("the event's task", () => seen.length === 2);
    assert.deepEqual([seen[0]!.run, seen[0]!.node, seen[0]!.input], [run, "first", { n: 7 }]);
    assert.deepEqual([seen[1]!.trigger!.event, seen[1]!.trigger!.handler], [event, "look"]);
  });

  it("says why it is refused, and what cannot be", async () => {
    for (const [name, type] of [["w 1", "t"], ["w", "no type"], ["signaller", "t"]] as const) {
      const worker = house.worker({ name }).task(type, () => 1).batch("fine", {}, (inputs) => inputs);
      await assert.rejects(worker.run(), (error) => error instanceof SignallerError && error.code === "invalid");
    }
    await assert.rejects(new Worker().run(), TypeError);
    assert.throws(() => new Worker({ concurrency: 1_001 }), RangeError);
    assert.throws(() => new Worker({ url: "localhost:7400" }), TypeError);
    assert.throws(() => new Client({ timeoutMs: Number("5s") }), RangeError);
    assert.throws(() => new Worker({ name: "n".repeat(111) }), RangeError);
    assert.throws(() => new Worker().batch("a", { size: 0 }, (inputs) => inputs), RangeError);
    assert.throws(() => new Worker().task("a", () => 1).task("a", () => 1), TypeError);
  });
});
