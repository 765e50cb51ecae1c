/** A JSON Schema (2020-12), or any part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * A schema of the contract as a client may be shown it: the service's own formats (`shared/contract/ajv.ts`) mean nothing
 * outside of it, and strict validators refuse what they do not know. Nothing else is changed, so what is published is what
 * is checked.
 */
export function publishedSchema(schema: Schema): Schema {
  return publish(schema) as Schema;
}

/** What stands for a format of ours; undefined where no common format says it. */
const plainFormats: Readonly<Record<string, string | undefined>> = {
  text: undefined,
  moment: undefined,
  'http-url': 'uri',
};

function publish(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(publish);
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).flatMap(([key, value]): [string, unknown][] => {
    if (key !== 'format' || typeof value !== 'string' || !Object.hasOwn(plainFormats, value)) {
      return [[key, publish(value)]];
    }
    const plain = plainFormats[value];
    return plain === undefined ? [] : [[key, plain]];
  });
  return Object.fromEntries(entries);
}
