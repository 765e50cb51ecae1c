/** A JSON Schema (2020-12), or any part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * What a client is shown in place of the service's own formats (`ajv.ts`), which strict validators refuse: what a pattern
 * can say of them, and never more than is checked. Of `text` that is nothing (the reference's introduction says what it
 * forbids); an `http-url` is what a browser takes for one, which `format: uri` would refuse some of.
 */
const keywordsOf: Readonly<Record<string, Schema>> = {
  text: {},
  'http-url': { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' },
  moment: { pattern: '^\\d{4}-\\d\\d-\\d\\d(T|$)' },
};

/** Of this schema alone, not of those in it. */
export function publishFormat(schema: Schema): Schema {
  const { format, ...others } = schema;
  const keywords = typeof format === 'string' && Object.hasOwn(keywordsOf, format) ? keywordsOf[format] : undefined;
  return keywords === undefined ? schema : { ...others, ...keywords };
}
