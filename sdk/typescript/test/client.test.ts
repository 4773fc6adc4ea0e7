/** What programs bring in and ask for, against a real server; and that the types are those of this server. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { generate } from "../scripts/generate.js";
import { Client, SignallerError } from "../src/index.js";
import { House, LONG_MS, lossy, PACKAGE } from "./house.js";

const WORKFLOW = `
workflow: double
input: {type: object, required: [n]}
nodes:
  first: {type: twice, with: {n: "\${input.n}"}}
  second: {type: twice, after: first, with: {n: "\${output}"}}
output: nodes.second.output
`;

describe("a client", { timeout: 4 * LONG_MS }, () => {
  let house: House;
  before(async () => {
    house = await House.start();
  });
  after(() => house.end());

  it("emits events, and the same id is the same event", async () => {
    await house.putText("PUT", "/v1/registry", "handlers:\n  mail: {on: order/paid, task: mail}\n");
    const { client } = house;
    const first = await client.emit("order/paid", { order: "Ä 🚂" }, { id: "order-1", source: "shop", priority: "high" });
    const again = await client.emit("order/paid", { order: "Ä 🚂" }, { id: "order-1" });
    const other = await client.emit("order/paid", { order: 2 }, { id: "order-1" });
    assert.deepEqual([first.duplicate, again.duplicate, other.differs], [false, true, true]);
    assert.deepEqual([again.event, other.event], [first.event, first.event]);
    assert.deepEqual((await client.tasks.show(first.handled[0]!.task!)).input, { order: "Ä 🚂" });
    const { events: many } = await client.events.emitMany([{ name: "order/paid", data: 1 }, { name: "nobody" }]);
    assert.deepEqual(many.map((event) => event.handled.length), [1, 0]);
  });

  it("adds tasks, looks at them, cancels them and waits for them", async () => {
    const { tasks } = house.client;
    const first = await tasks.add("a", { n: 1 }, { idempotency_key: "k", queue: "q", keys: { tenant: "x" }, tags: ["t"] });
    const again = await tasks.add("a", { n: 1 }, { idempotency_key: "k", queue: "q" });
    assert.deepEqual([again.task, again.duplicate], [first.task, true]);
    const view = await tasks.show(first.task);
    assert.deepEqual([view.status, view.queue, view.keys, view.tags], ["queued", "q", { tenant: "x" }, ["t"]]);
    const limited = { code: "limited", message: "so many wait", retryable: true, retry_after_ms: 5_000 };
    const full = new Client({ url: await house.door((body, ask) => ask(body), limited) });
    const away = new Client({ url: "http://127.0.0.1:1" });
    const late = { name: "TimeoutError", message: `after 50 ms ${first.task} is still queued` };
    await assert.rejects(tasks.wait(first.task, { timeoutMs: 50 }), late);
    for (const [client, message] of [[away, /did not answer/], [full, /so many wait/]] as const) {
      await assert.rejects(client.tasks.wait(first.task, { timeoutMs: 50 }), { name: "SignallerError", message });
    }
    // However short its own time, a client asks once, and not until the end.
    const quick = new Client({ url: house.url, timeoutMs: 200 });
    const [sendOnce, asked] = [quick.sendOnce.bind(quick), [] as string[]];
    quick.sendOnce = (method, path, ...rest) => (asked.push(path), sendOnce(method, path, ...rest));
    await assert.rejects(quick.tasks.wait(first.task, { timeoutMs: 500 }), { name: "TimeoutError" });
    assert.ok(asked.length <= 2, String(asked));
    await assert.rejects(tasks.show(first.task, { wait_ms: Number("5s") }), { name: "RangeError" });
    // What a try in vain has cost is not waited for once more.
    const soon = new Client({ url: await house.door((body, ask) => ask(body), { ...limited, retry_after_ms: 1_000 }, 1) });
    await assert.rejects(soon.tasks.wait(first.task, { timeoutMs: 1_500 }), { name: "TimeoutError", message: /after 1500 ms/ });
    const later = await tasks.add("a", null, { delay_ms: 3_600_000, blocked_by: [first.task] });
    for (const { task } of [later, first]) {
      await tasks.cancel(task, { reason: "a test" });
      assert.equal((await tasks.wait(task)).status, "cancelled");
    }
  });

  it("starts runs, waits for them and cancels them", async () => {
    const { runs } = house.client;
    await house.putText("POST", "/v1/workflows", WORKFLOW);
    const stuck = await runs.start("double", { n: 1 }, { tags: ["stuck"] });
    await runs.cancel(stuck.run, { reason: "a test" });
    assert.equal((await runs.wait(stuck.run)).status, "cancelled");
    void house.work(house.worker().task<{ n: number }>("twice", ({ n }) => n * 2));
    const started = await runs.start("double", { n: 5 }, { idempotency_key: "five" });
    assert.deepEqual(await runs.start("double", { n: 5 }, { idempotency_key: "five" }), { ...started, duplicate: true });
    const run = await runs.wait(started.run, { timeoutMs: LONG_MS });
    assert.deepEqual([run.status, run.output, run.workflow], ["done", 20, "double"]);
  });

  it("puts bytes and gets them", async () => {
    const { blobs } = house.client;
    const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 256);
    const { ref } = await blobs.put(bytes);
    assert.match(ref, /^blob:sha256-[0-9a-f]{64}$/);
    assert.equal((await blobs.put(bytes)).ref, ref);
    assert.deepEqual(await blobs.get(ref), bytes);
    assert.deepEqual(await blobs.get((await blobs.put(new Uint8Array())).ref), new Uint8Array());
  });

  it("throws a no as an error with a code", async () => {
    const { client } = house;
    const asks: [() => Promise<unknown>, string, number][] = [
      [() => client.tasks.show("task-zzz"), "task_not_found", 404],
      [() => client.tasks.show("no id/at all"), "task_not_found", 404],
      [() => client.runs.start("nothing"), "workflow_not_found", 404],
      [() => client.blobs.get(`blob:sha256-${"0".repeat(64)}`), "blob_not_found", 404],
      [() => client.blobs.put(new Uint8Array(64 * 1024 * 1024 + 1)), "too_large", 413],
      [() => client.emit(""), "invalid", 400],
      [() => client.tasks.add("a", "x".repeat(300_000)), "too_large", 413],
      [() => client.request("GET", "/v1/nowhere"), "not_found", 404],
      [() => new Client({ url: "http://127.0.0.1:1", timeoutMs: 200 }).emit("a"), "unreachable", 0],
    ];
    for (const [ask, code, status] of asks) {
      await assert.rejects(ask(), (error) => {
        assert.ok(error instanceof SignallerError);
        assert.deepEqual([error.code, error.status], [code, status]);
        return true;
      });
    }
  });

  it("outlives the server and does nothing twice", async () => {
    const count = async (): Promise<number> =>
      (await house.client.tasks.list({ type: "b", limit: 1000 })).tasks.length;
    await house.client.tasks.add("b");
    await house.server.end("SIGKILL");
    const asked = [house.client.tasks.add("b"), house.client.emit("e"), house.client.server.status()];
    await house.startServer();
    await Promise.all(asked);
    assert.equal(await count(), 2);
  });

  it("does not do twice what was done though its answer was lost", async () => {
    const client = new Client({ url: await house.door(lossy()) });
    await house.putText("POST", "/v1/workflows", "workflow: stuck\nnodes: {first: {type: nobody}}\n");
    await client.emit("order/paid", {}, { id: null });
    await client.tasks.add("c", 1, JSON.parse('{"idempotency_key": null}'));
    const { tasks: [task] } = await client.tasks.addMany([{ type: "c", ...({ idempotency_key: undefined } as object) }]);
    const { run } = await client.runs.start("stuck", {}, { tags: ["lost"], ...({ idempotency_key: undefined } as object) });
    const count = async (path: string, kind: string): Promise<number> => (await house.client.request<any>("GET", path))[kind].length;
    assert.deepEqual([await count("/v1/tasks?type=c", "tasks"), await count("/v1/runs?tag=lost", "runs")], [2, 1]);
    for (let time = 0; time < 2; time++) {
      await client.tasks.cancel(task!.task);
      await client.runs.cancel(run);
    }
    assert.deepEqual([(await client.tasks.show(task!.task)).status, (await client.runs.show(run)).status], ["cancelled", "cancelled"]);
    void house.work(house.worker().task("done", () => 1));
    const done = await house.add("done");
    assert.deepEqual(await house.ended(done), ["done", 1]);
    await assert.rejects(client.tasks.cancel(done), { code: "wrong_state" });
  });

  it("takes nothing for bytes or a text that is none", async () => {
    const { client } = house;
    const asks: [() => Promise<unknown>, ErrorConstructor][] = [
      [() => client.blobs.put(undefined as never), TypeError],
      [() => client.blobs.put("text" as never), TypeError],
      [() => client.registry.put({ handlers: {} } as never), TypeError],
      [() => client.tasks.wait("task-1", { timeoutMs: Number("5s") }), RangeError],
    ];
    for (const [ask, kind] of asks) await assert.rejects(ask(), kind);
    assert.ok((await new Client({ url: house.url, token: "a\n" }).server.status()).version);
  });

  it("has a call for everything", async () => {
    const groups = Object.values(house.client).filter((group): group is object => typeof group === "object");
    const calls = groups.flatMap((group) => {
      const own = Object.getPrototypeOf(group);
      const names = Object.getOwnPropertyNames(own).filter((name) => name !== "constructor");
      return names.map((name) => ({ name: `${own.constructor.name}.${name}`, call: own[name].bind(group) }));
    });
    assert.ok(calls.length > 70, `${calls.length}`);
    // With something in every place that has to be filled, none goes where nothing is.
    const nothing = ["not_found", "method_not_allowed", "not_signaller", "unreachable"];
    for (const { name, call } of calls) {
      const filling = name === "Blobs.put" ? new Uint8Array() : name.endsWith("Many") ? [] : "x";
      const filled = Array.from({ length: call.length }, () => filling);
      await call(...filled).catch((no: unknown) => {
        assert.ok(no instanceof SignallerError && !nothing.includes(no.code), `${name}: ${no}`);
      });
    }
  });

  it("says what is asked", async () => {
    const { tasks, runs, events, queues } = house.client;
    await house.putText("POST", "/v1/workflows", WORKFLOW);
    const added = [];
    for (const queue of ["q", "x/y", "x/y"]) added.push((await tasks.add("asked", null, { queue })).task);
    assert.deepEqual((await tasks.list({ queue: "x/y", limit: 1, tag: undefined })).tasks.map(({ task }) => task), [added[2]]);
    const { run } = await runs.start("double", { n: 1 });
    assert.deepEqual((await runs.show(run, { nodes: 1, all_generations: true })).nodes?.map(({ node }) => node), ["first"]);
    assert.equal((await events.list({ id: "a&b=c ü%", unhandled: true })).events.length, 0);
    assert.equal((await queues.put("q", { concurrency: 3 })).config.concurrency, 3);
    const task = await house.add("asked");
    await tasks.cancel(task);
    const client = new Client({ url: await house.door(lossy()) });
    await assert.rejects(client.tasks.retry(task), { code: "unreachable" }, "it might be done twice");
    assert.equal((await client.tasks.show(task)).status, "queued");
    assert.equal((await client.queues.pause("other", { for_ms: 60_000 })).queue, "other");
  });

  it("has the types that the server describes", async () => {
    const made = await generate(await house.client.request("GET", "/openapi.json"));
    assert.equal(await readFile(join(PACKAGE, "src/api.ts"), "utf8"), made, "run `make sdk-types`");
  });
});
