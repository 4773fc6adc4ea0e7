/** Workers and a client for Signaller, over its HTTP API. No dependencies. */

export { type Context, Fail, Retry } from "./attempt.js";
export { Client, type ClientOptions, type Schemas, SignallerError } from "./client.js";
export * from "./worker.js";
