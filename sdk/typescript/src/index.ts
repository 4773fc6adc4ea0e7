/** Workers and a client for Signaller, over its HTTP API. No dependencies. */

export type { components } from "./api.js";
export { type Context, Fail, Retry } from "./attempt.js";
export * from "./client.js";
export { type Place, type Problem, SignallerError } from "./http.js";
export * from "./worker.js";
