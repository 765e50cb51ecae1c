import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
// Each compiles schemas as it is loaded.
import '../../../api/agent/tools.js';
import '../../../shared/contract/read-inventory-batch.js';
import '../../../shared/contract/read-material-changes.js';
import '../../../shared/contract/read-query.js';

describe('the schemas that judge what comes in', () => {
  it('are schemas', () => {
    // One that is none throws as it is compiled (test/support/judge-schemas.ts). Mocha then loads this file anew by
    // `import`, in which nothing is judged: that shows here.
    expect(ajv.opts.validateSchema).to.equal(true);
  });
});
