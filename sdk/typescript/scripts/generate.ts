/**
 * The types of the API as the server describes it, as far as this package uses them: `make sdk-types` writes `src/api.ts`. Says
 * the whole description, for the generators of others.
 */

import { writeFile } from "node:fs/promises";
import openapi, { astToString, type OpenAPI3 } from "openapi-typescript";
import { House } from "../test/house.js";

interface Schema {
  properties?: Record<string, { default?: unknown }>;
}

interface Described {
  openapi: string;
  info: unknown;
  paths: Record<string, Record<string, { requestBody?: unknown }>>;
  components: { schemas: Record<string, Schema> };
}

export async function generate({ openapi: version, info, paths, components }: Described): Promise<string> {
  const schemas: Record<string, Schema> = structuredClone(components.schemas);
  // What has a default is always answered, and need not be asked.
  const asked = new Set<string>();
  const take = (said: unknown): void => {
    for (const [, name] of JSON.stringify(said).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (asked.has(name!)) continue;
      asked.add(name!);
      take(schemas[name!]);
    }
  };
  for (const path of Object.values(paths)) for (const { requestBody } of Object.values(path)) take(requestBody ?? {});
  for (const name of asked) for (const property of Object.values(schemas[name]!.properties ?? {})) delete property.default;
  const part = { openapi: version, info, paths: {}, components: { schemas } } as OpenAPI3;
  return `// Made by \`make sdk-types\` from the server's own description. Do not edit.\n\n${astToString(await openapi(part))}`;
}

const [, program, path] = process.argv;
if (program === import.meta.filename && path) {
  const house = await House.start();
  try {
    const described = await house.client.request<Described>("GET", "/openapi.json");
    await writeFile(path, await generate(described));
    console.log(JSON.stringify(described));
  } finally {
    await house.end();
  }
}
