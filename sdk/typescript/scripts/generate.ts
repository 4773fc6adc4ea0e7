/**
 * The types of the API as the server describes it, as far as this package uses them: `make sdk-types` writes `src/api.ts`. Says
 * the whole description, for the generators of others.
 */

import { writeFile } from "node:fs/promises";
import openapi, { astToString, type OpenAPI3 } from "openapi-typescript";
import { House } from "../test/house.js";

const ASKED = ["EventEmit", "RunNow", "RunStart", "TaskAdd", "WorkPoll"];
const ANSWERED = ["ErrorBody", "EventEmitted", "RunStarted", "RunView", "TaskAdded", "TaskStatus", "TaskView", "WorkAnswer"];

interface Schema {
  properties?: Record<string, { default?: unknown }>;
}

/** Of all that is described, the schemas above and what they are made of. */
export async function generate(described: { openapi: string; info: unknown; components: { schemas: Record<string, Schema> } }) {
  const schemas: Record<string, Schema> = {};
  const take = (name: string): void => {
    if (name in schemas) return;
    schemas[name] = structuredClone(described.components.schemas[name]!);
    for (const [, other] of JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/(\w+)"/g)) take(other!);
  };
  ASKED.forEach(take);
  // What has a default is always answered, and need not be asked.
  for (const { properties = {} } of Object.values(schemas)) for (const property of Object.values(properties)) delete property.default;
  ANSWERED.forEach(take);
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  const part = { openapi: described.openapi, info: described.info, paths: {}, components: { schemas: sorted } } as OpenAPI3;
  return `// Made by \`npm run generate\` from the server's own description. Do not edit.\n\n${astToString(await openapi(part))}`;
}

const [, program, path] = process.argv;
if (program === import.meta.filename && path) {
  const house = await House.start();
  try {
    const described = await house.client.request<Parameters<typeof generate>[0]>("GET", "/openapi.json");
    await writeFile(path, await generate(described));
    console.log(JSON.stringify(described));
  } finally {
    await house.end();
  }
}
