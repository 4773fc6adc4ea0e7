/** What is shown in the READMEs and in `examples/` runs as it is written. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { House, LONG_MS, PACKAGE, ROOT } from "./house.js";

describe("what is shown", { timeout: 2 * LONG_MS }, () => {
  let house: House;
  beforeEach(async () => {
    house = await House.start();
    await house.queue("classify", { retry: { attempts: 2, backoff_ms: 0, jitter_percent: 0 } });
  });
  afterEach(() => house.end());

  async function check(table: [type: string, input: unknown, ended: [string, unknown]][]): Promise<void> {
    for (const [type, input, ended] of table) assert.deepEqual(await house.ended(await house.add(type, input)), ended);
  }

  it("in the README works", async () => {
    const readme = await readFile(join(PACKAGE, "README.md"), "utf8");
    const [worker, client] = readme.split("```js\n").slice(1).map((block) => block.split("```")[0]!);
    const working = await house.program(worker!);
    const calling = await house.program(client!);
    assert.equal(await calling.line(), "{ greeting: 'Hello, Ada!' }");
    assert.equal(await calling.line(), "done");
    assert.equal(await calling.line(), "workflow_not_found 404 false");
    assert.equal(await calling.line(), "12");
    assert.equal(await calling.line(), "queue_paused");
    assert.equal((await calling.ended)[0], 0);
    await check([
      ["greet", {}, ["failed", "no_name"]],
      ["classify", null, ["done", { class: "letter" }]],
      ["embed", "four", ["done", 4]],
      ["embed", "", ["failed", "empty"]],
    ]);
    assert.equal(await working.end("SIGTERM"), 0);
  });

  it("on the first page works", async () => {
    const readme = await readFile(join(ROOT, "README.md"), "utf8");
    await house.program(readme.split("```js\n")[1]!.split("```")[0]!);
    await check([["greet", { name: "Ada" }, ["done", { greeting: "Hello, Ada!" }]]]);
  });

  it("in examples/ works", async () => {
    const working = await house.program(await readFile(join(ROOT, "examples/greet.mjs"), "utf8"));
    await check([
      ["greet", { name: "Ada" }, ["done", { greeting: "Hello, Ada!" }]],
      ["greet", { name: "Bob", busy: true, seconds: 0.1 }, ["done", { greeting: "Hello, Bob!" }]],
      ["greet", {}, ["failed", "no_name"]],
      ["translate", "world", ["done", { german: "Welt" }]],
      ["translate", "word", ["failed", "unknown"]],
    ]);
    assert.equal(await working.end("SIGTERM"), 0);
  });
});
