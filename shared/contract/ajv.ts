import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parseMoment } from './moment.js';
import { isCleanText, isHttpUrl } from './text-rules.js';

/**
 * The one Ajv of the process. With `ownProperties` a required `toString` is not found on Object.prototype.
 * `strictRequired` is off because the branches of a `oneOf` require properties that are declared beside it. That our
 * schemas are schemas is judged in the tests (test/support/judge-schemas.ts): to compile the meta-schema for it would
 * cost each start of an API process 50 to 90 ms of CPU and 5 MiB.
 */
export const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  strictRequired: false,
  ownProperties: true,
  allowUnionTypes: true,
  validateSchema: false,
});

// ajv-formats is CommonJS: under nodenext its default export is the module, and the plugin is its `default`.
addFormats.default(ajv);
ajv.addFormat('text', { type: 'string', validate: isCleanText });
ajv.addFormat('http-url', { type: 'string', validate: isHttpUrl });
ajv.addFormat('moment', { type: 'string', validate: (text) => parseMoment(text) !== undefined });
