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
    assert.deepEqual((await client.tasks.get(first.handled[0]!.task!)).input, { order: "Ä 🚂" });
    const many = await client.emitMany([{ name: "order/paid", data: 1 }, { name: "nobody" }]);
    assert.deepEqual(many.map((event) => event.handled.length), [1, 0]);
  });

  it("adds tasks, looks at them, cancels them and waits for them", async () => {
    const { tasks } = house.client;
    const first = await tasks.add("a", { n: 1 }, { idempotency_key: "k", queue: "q", keys: { tenant: "x" }, tags: ["t"] });
    const again = await tasks.add("a", { n: 1 }, { idempotency_key: "k", queue: "q" });
    assert.deepEqual([again.task, again.duplicate], [first.task, true]);
    const view = await tasks.get(first.task);
    assert.deepEqual([view.status, view.queue, view.keys, view.tags], ["queued", "q", { tenant: "x" }, ["t"]]);
    await assert.rejects(tasks.wait(first.task, { timeoutMs: 50 }), /is still queued/);
    const later = await tasks.add("a", null, { delay_ms: 3_600_000, blocked_by: [first.task] });
    for (const { task } of [later, first]) {
      await tasks.cancel(task, "a test");
      assert.equal((await tasks.wait(task)).status, "cancelled");
    }
  });

  it("starts runs, waits for them and cancels them", async () => {
    const { runs } = house.client;
    await house.putText("POST", "/v1/workflows", WORKFLOW);
    const stuck = await runs.start("double", { n: 1 }, { tags: ["stuck"] });
    await runs.cancel(stuck.run, "a test");
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
    const ref = await blobs.put(bytes);
    assert.match(ref, /^blob:sha256-[0-9a-f]{64}$/);
    assert.equal(await blobs.put(bytes), ref);
    assert.deepEqual(await blobs.get(ref), bytes);
    assert.deepEqual(await blobs.get(await blobs.put(new Uint8Array())), new Uint8Array());
  });

  it("throws a no as an error with a code", async () => {
    const { client } = house;
    const asks: [() => Promise<unknown>, string, number][] = [
      [() => client.tasks.get("task-zzz"), "task_not_found", 404],
      [() => client.tasks.get("no id/at all"), "task_not_found", 404],
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
      (await house.client.request<{ tasks: unknown[] }>("GET", "/v1/tasks?type=b&limit=1000")).tasks.length;
    await house.client.tasks.add("b");
    await house.server.end("SIGKILL");
    const asked = [house.client.tasks.add("b"), house.client.emit("e"), house.client.request("GET", "/v1/status")];
    await house.startServer();
    await Promise.all(asked);
    assert.equal(await count(), 2);
  });

  it("does not do twice what was done though its answer was lost", async () => {
    const client = new Client({ url: await house.door(lossy()) });
    await house.putText("POST", "/v1/workflows", "workflow: stuck\nnodes: {first: {type: nobody}}\n");
    await client.emit("order/paid", {}, { id: null });
    await client.tasks.add("c", 1, JSON.parse('{"idempotency_key": null}'));
    const [task] = await client.tasks.addMany([{ type: "c", ...({ idempotency_key: undefined } as object) }]);
    const { run } = await client.runs.start("stuck", {}, { tags: ["lost"], ...({ idempotency_key: undefined } as object) });
    const count = async (path: string, kind: string): Promise<number> => (await house.client.request<any>("GET", path))[kind].length;
    assert.deepEqual([await count("/v1/tasks?type=c", "tasks"), await count("/v1/runs?tag=lost", "runs")], [2, 1]);
    for (let time = 0; time < 2; time++) {
      await client.tasks.cancel(task!.task);
      await client.runs.cancel(run);
    }
    assert.deepEqual([(await client.tasks.get(task!.task)).status, (await client.runs.get(run)).status], ["cancelled", "cancelled"]);
    void house.work(house.worker().task("done", () => 1));
    const done = await house.add("done");
    assert.deepEqual(await house.ended(done), ["done", 1]);
    await assert.rejects(client.tasks.cancel(done), { code: "wrong_state" });
  });

  it("has the types that the server describes", async () => {
    const made = await generate(await house.client.request("GET", "/openapi.json"));
    assert.equal(await readFile(join(PACKAGE, "src/api.ts"), "utf8"), made, "run `make sdk-types`");
  });
});
