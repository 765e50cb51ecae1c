import { ajv } from '../../shared/contract/ajv.js';

// A service takes it that its schemas are schemas, to start sooner. Here one that is none throws when it is compiled.
ajv.opts.validateSchema = true;
