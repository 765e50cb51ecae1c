/** A JSON Schema (2020-12), or any part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * What published schemas say in place of the service's own formats (`ajv.ts`), which strict validators refuse. A
 * pattern says as much as it can, and never forbids what we accept. For `text` there is none (the introduction of the
 * reference says what it forbids). An `http-url` is whatever a browser accepts; `format: uri` would refuse some of
 * that.
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
