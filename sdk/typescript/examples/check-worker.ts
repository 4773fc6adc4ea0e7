/** A worker for `signaller worker-check -- node check-worker.js`: it does what the input of a task says. */

import { setTimeout as sleep } from "node:timers/promises";
import { Fail, Retry, Worker } from "signaller";

interface Asked {
  do: string;
  value?: unknown;
  ms: number;
  bytes: number;
  code: string;
  message: string;
  retryable: boolean;
  retry_after_ms?: number;
}

const worker = new Worker({ concurrency: 8 });

worker.task<Asked>(process.env["SIGNALLER_CHECK_TYPE"] ?? "check", async (input, context) => {
  switch (input.do) {
    case "echo":
      return input.value;
    case "sleep":
      await sleep(input.ms);
      return input.value;
    case "grow":
      return "x".repeat(input.bytes);
    case "fail": {
      const { message, code, retry_after_ms: afterMs } = input;
      throw input.retryable ? new Retry(message, { code, ...(afterMs && { afterMs }) }) : new Fail(message, { code });
    }
    case "wait":
      while (!context.signal.aborted) await sleep(20);
      return null;
    default:
      throw new Fail(`nobody knows how to ${input.do}`);
  }
});

await worker.run();
