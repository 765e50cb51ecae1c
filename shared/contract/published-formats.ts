/** A JSON Schema (2020-12), or any part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * What clients are shown in place of the service's own formats (`ajv.ts`), which strict validators refuse: as much as a
 * pattern can say, and never more than is checked. For `text` that is nothing (the reference's introduction says what
 * it forbids). An `http-url` is what a browser takes for one; `format: uri` would refuse some of those.
 */
const keywordsOf: Readonly<Record<string, Schema>> = {
  text: {},
  'http-url': { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s/?#]\\S*$' },
  moment: {
    pattern: '^\\d{4}-\\d\\d-\\d\\d(?:T\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d{1,9})?)?(?:Z|[+-]\\d\\d:\\d\\d))?$',
  },
};

/** Replaces the format of this schema alone, not of those within it. */
export function publishFormat(schema: Schema): Schema {
  const { format, ...others } = schema;
  const keywords = typeof format === 'string' && Object.hasOwn(keywordsOf, format) ? keywordsOf[format] : undefined;
  return keywords === undefined ? schema : { ...others, ...keywords };
}
