import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parseMoment } from './moment.js';
import { isCleanText, isHttpUrl, isTooLongForAddress } from './text-rules.js';

/**
 * Tells all faults of what a client sent. With `ownProperties` a required `toString` is not found on Object.prototype.
 * `strictRequired` is off because the branches of a `oneOf` require properties that are declared beside it. That our
 * schemas are schemas is judged in the tests (test/support/judge-schemas.ts): to compile the meta-schema for it would
 * cost each start of an API process 50 to 90 ms of CPU and 5 MiB.
 */
export const ajv = createAjv({ allErrors: true, validateSchema: false });

/**
 * Stops at the first fault: for what nobody is told the faults of. Of a reply of 1 MiB it would otherwise make and keep
 * 350,000 of them (a second or more, 400 MiB).
 */
export function createBriefAjv(): Ajv2020 {
  return createAjv({ allErrors: false, validateSchema: ajv.opts.validateSchema === true });
}

function createAjv(options: { allErrors: boolean; validateSchema: boolean }): Ajv2020 {
  const made = new Ajv2020({
    ...options,
    strict: true,
    strictRequired: false,
    ownProperties: true,
    allowUnionTypes: true,
  });
  // ajv-formats is CommonJS: under nodenext its default export is the module, and the plugin is its `default`.
  addFormats.default(made);
  made.addFormat('text', { type: 'string', validate: isCleanText });
  // What is too long has that fault and no other.
  made.addFormat('http-url', { type: 'string', validate: (text) => isTooLongForAddress(text) || isHttpUrl(text) });
  made.addFormat('moment', { type: 'string', validate: (text) => parseMoment(text) !== undefined });
  return made;
}
