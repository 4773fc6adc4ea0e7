// A worker with the SDK for TypeScript: greets one by one, and translates in batches. sdk/typescript/README.md says how to install it.
//
//     node greet.mjs                 # in the folder it was installed in; SIGNALLER_URL and SIGNALLER_TOKEN as for the command line

import { setTimeout as sleep } from "node:timers/promises";
import { Fail, Retry, Worker } from "signaller";

const worker = new Worker({ concurrency: 4 });

worker.task("greet", async (input, { attempt, signal }) => {
  if (input.name === undefined) throw new Fail("the input has no name", { code: "no_name" }); // Another attempt would not help.
  if (input.busy && attempt === 1) throw new Retry("the first attempt is turned away", { afterMs: 100 });
  await sleep((input.seconds ?? 0) * 1_000, undefined, { signal }); // Heartbeats go on meanwhile; a cancelled task ends here.
  return { greeting: `Hello, ${input.name}!` };
});

// All that wait, up to 16, in one call, as a model would like it.
const words = new Map([["hello", "Hallo"], ["world", "Welt"]]);
worker.batch("translate", { size: 16 }, (inputs) =>
  inputs.map((word) => (words.has(word) ? { german: words.get(word) } : new Fail(`\`${word}\` is not known`, { code: "unknown" }))),
);

await worker.run();
