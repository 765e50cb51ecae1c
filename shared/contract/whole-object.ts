/**
 * What a reply's object schema says of its fields: each is always there, and there are no others. Listed beside the
 * properties, a required name without its property would make `FromSchema` a type that nothing fits, far from here.
 */
export function wholeObject<const Properties extends object>(properties: Properties) {
  const required = Object.keys(properties) as (keyof Properties & string)[];
  return { type: 'object', required, properties, additionalProperties: false } as const;
}
