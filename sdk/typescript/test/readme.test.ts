/** The examples of the README run as they are written. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { House, LONG_MS } from "./house.js";

it("the worker and the client of the README work", { timeout: 2 * LONG_MS }, async () => {
  const readme = await readFile(join(import.meta.dirname, "../../README.md"), "utf8");
  const [worker, client] = readme.split("```js\n").slice(1).map((block) => block.split("```")[0]!);
  const house = await House.start();
  try {
    await house.queue("classify", { retry: { attempts: 2, backoff_ms: 0, jitter_percent: 0 } });
    const working = await house.program(worker!);
    const calling = await house.program(client!);
    assert.equal(await calling.line(), "{ greeting: 'Hello, Ada!' }");
    assert.match((await calling.line())!, /^workflow_not_found 404 /);
    assert.match((await calling.line())!, /^\d/);
    assert.equal((await calling.ended)[0], 0);
    for (const [type, input, ended] of [
      ["greet", {}, ["failed", "no_name"]],
      ["classify", null, ["done", { class: "letter" }]],
      ["embed", "four", ["done", 4]],
      ["embed", "", ["failed", "empty"]],
    ] as const) {
      assert.deepEqual(await house.ended(await house.add(type, input)), ended);
    }
    assert.equal(await working.end("SIGTERM"), 0);
  } finally {
    await house.end();
  }
});
