/** What a worker does when the server or the connection is in trouble. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SignallerError } from "../src/index.js";
import { House, LONG_MS, refusing } from "./house.js";

/** A promise, and what resolves it. */
function gate(): [gone: Promise<void>, go: () => void] {
  let go = (): void => {};
  return [new Promise<void>((resolve) => (go = resolve)), () => go()];
}

describe("a worker in trouble", { timeout: 4 * LONG_MS }, () => {
  let house: House;
  beforeEach(async () => {
    house = await House.start();
  });
  afterEach(() => house.end());

  it("loses no other lease when one result is answered slowly", async () => {
    const url = await house.door(async (body, ask) => {
      const answer = await ask(body);
      if (body.worker.endsWith("/results")) await sleep(3_500);
      return answer;
    });
    await house.queue("slow", { heartbeat_ms: 1_500 });
    void house.work(house.worker({ url }).task("slow", async (input) => (await sleep(input), input)));
    for (const task of [await house.add("slow", 5_000), await house.add("slow", 500)]) {
      assert.equal((await house.ended(task))[0], "done");
      assert.equal((await house.client.tasks.show(task)).attempt, 1);
    }
  });

  it("does not end of what somebody else answers in between", async () => {
    const odd: object[] = [{ error: "upstream unavailable" }, { error: { type: "bad_gateway" } }, { ok: true }, {}];
    let isBegun = false;
    const url = await house.door(async (body, ask) => (isBegun && odd.length ? odd.pop() : ask(body)));
    await house.queue("steady", { heartbeat_ms: 3_000 });
    void house.work(
      house.worker({ url }).task("steady", async () => {
        isBegun = true;
        await house.until("all were told", () => !odd.length);
        return "done";
      }),
    );
    const task = await house.add("steady");
    assert.deepEqual(await house.ended(task), ["done", "done"]);
    assert.equal((await house.client.tasks.show(task)).attempt, 1);
  });

  it("takes no more while its results cannot be kept, and tells them later", async () => {
    const polls: { want: number; results: unknown[]; holding: unknown[] }[] = [];
    let isOver = false;
    const refuse = refusing(() => isOver);
    const url = await house.door((body, ask) => (polls.push(body), refuse(body, ask)));
    const tasks: string[] = [];
    for (const first of [0, 700]) {
      const { tasks: added } = await house.client.tasks.addMany(Array.from({ length: 700 }, (_, n) => ({ type: "count", input: first + n })));
      tasks.push(...added.map(({ task }) => task));
    }
    void house.work(house.worker({ url, concurrency: 600 }).task("count", (input) => input));
    await house.until("results were refused often", () => polls.filter(({ results }) => results.length).length > 5);
    assert.ok(polls.every(({ results, holding }) => results.length + holding.length <= 1_000));
    assert.deepEqual(polls.slice(-3).map(({ want }) => want), [0, 0, 0]);
    isOver = true;
    for (const [n, task] of tasks.entries()) assert.deepEqual(await house.ended(task), ["done", n]);
    assert.equal((await house.client.tasks.show(tasks[0]!)).attempt, 1);
  });

  it("tells many large results, none of which waits for the poll", async () => {
    const [gone, go] = gate();
    let begun = 0;
    const worker = house.worker({ name: "n".repeat(110), concurrency: 8 }).task("large", async () => {
      begun += 1;
      await gone;
      return "x".repeat(200_000);
    });
    void house.work(worker);
    const tasks = await Promise.all([1, 2, 3, 4].map(() => house.add("large")));
    await house.until("they run", () => begun === 4);
    go();
    for (const task of tasks) assert.equal((await house.client.tasks.wait(task, { timeoutMs: 8_000 })).status, "done");
  });

  it("tells a result that comes late in its stop for as long as any", async (test) => {
    const [gone, go] = gate();
    let [begun, isAway, lost, late] = [false, false, 0, 0];
    const url = await house.door(async (body, ask) => {
      if (!isAway) return ask(body);
      lost += 1;
      late += body.results.length;
      return undefined;
    });
    const worker = house.worker({ url }).task("late", async () => ((begun = true), await gone, "kept"));
    const running = house.work(worker);
    const task = await house.add("late");
    await house.until("it runs", () => begun);
    isAway = true;
    worker.stop();
    await house.until("it is tried", () => lost > 1);
    // Longer than a farewell passes.
    const now = performance.now.bind(performance);
    test.mock.method(performance, "now", () => now() + 11_000);
    go();
    await house.until("the result is lost", () => late > 0);
    isAway = false;
    await running;
    assert.deepEqual(await house.ended(task), ["done", "kept"]);
  });

  it("tells again what was said in a poll that failed", async () => {
    const lost: string[] = [];
    const url = await house.door(async (body, ask) => {
      const lines = [...body.holding, ...body.results].flatMap(({ log }) => log).filter((line) => !lost.includes(line));
      lost.push(...lines);
      return lines.length ? undefined : ask(body);
    });
    const [gone, go] = gate();
    await house.queue("talk", { heartbeat_ms: 3_000 });
    const worker = house.worker({ url, concurrency: 1 }).task("talk", async (_, { log }) => {
      log("first");
      await gone;
      log("last");
    });
    void house.work(worker);
    const task = await house.add("talk");
    await house.until("a line was lost", () => lost.length);
    go();
    assert.deepEqual(await house.ended(task), ["done", null]);
    const { lines } = await house.client.tasks.log(task);
    assert.deepEqual([lines.map(({ text }) => text), lost], [["first", "last"], ["first", "last"]]);
  });

  it("tells what is said by many at once in several polls", async () => {
    const [gone, go] = gate();
    let begun = 0;
    await house.queue("talk", { heartbeat_ms: 3_000 });
    const { tasks: added } = await house.client.tasks.addMany(Array.from({ length: 200 }, () => ({ type: "talk" })));
    const worker = house.worker({ concurrency: 200 }).task("talk", async (_, { log }) => {
      for (let line = 0; line < 100; line++) log("\u4e16".repeat(500));
      begun += 1;
      await gone;
    });
    void house.work(worker);
    await house.until("they run", () => begun === 200);
    go();
    for (const { task } of added) assert.deepEqual(await house.ended(task), ["done", null]);
  });

  it("hands back what it holds when one of its types is refused", async () => {
    let begun = false;
    const url = await house.door(async (body, ask) => {
      if (begun && body.worker.endsWith("/1")) return { error: { code: "invalid", message: "no", retryable: false } };
      return ask({ ...body, wait_ms: 0, want: begun ? 0 : body.want });
    });
    const worker = house.worker({ url }).batch("refused", {}, (inputs) => inputs);
    worker.task("endless", (_, { signal }) => ((begun = true), sleep(3_600_000, undefined, { signal })));
    const task = await house.add("endless");
    await assert.rejects(worker.run(), SignallerError);
    await house.handedBack(task);
  });
});
