/** Workers and a client for Signaller, over its HTTP API. No dependencies. */

export type { components } from "./api.js";
export * from "./client.js";
export type { Context } from "./crew.js";
export { Fail, Retry, SignallerError, type Problem } from "./errors.js";
export type { Place } from "./http.js";
export * from "./worker.js";
