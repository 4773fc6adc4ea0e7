// The node `longest`, in TypeScript with the SDK.
import { Worker } from "signaller";

const worker = new Worker();

worker.task("longest", async (input: { words: string[] }) =>
  input.words.reduce((longest, word) => (word.length > longest.length ? word : longest), ""));

await worker.run();
