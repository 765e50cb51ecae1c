import type { ValidateFunction } from 'ajv/dist/2020.js';

/**
 * A check of a reply's shape, compiled when it is first asked: to compile all that Shopify may reply takes as long as to
 * load an eighth of an API process, and most processes never speak with Shopify.
 */
export function compiledWhenAsked<Data>(compile: () => ValidateFunction<Data>): (reply: unknown) => reply is Data {
  let isData: ValidateFunction<Data> | undefined;
  return (reply): reply is Data => (isData ??= compile())(reply);
}
