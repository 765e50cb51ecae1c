import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { createBriefAjv } from '../../contract/ajv.js';

let briefAjv: Ajv2020 | undefined;

/**
 * A check of a reply's shape that is compiled when it is first used. To compile the checks of all replies takes an
 * eighth of the time in which an API process loads, and most processes never call Shopify.
 */
export function compiledWhenAsked<Data>(
  compile: (ajv: Ajv2020) => ValidateFunction<Data>,
): (reply: unknown) => reply is Data {
  let isData: ValidateFunction<Data> | undefined;
  return (reply): reply is Data => (isData ??= compile((briefAjv ??= createBriefAjv())))(reply);
}
