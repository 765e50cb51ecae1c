import { expect } from 'chai';
import { parseExposition } from '../../support/metrics/exposition.js';

describe('the parser of the exposition, with which the others are judged', () => {
  for (const [what, text] of Object.entries({
    'a sample before its type': 'a 1\n# HELP a b\n# TYPE a gauge\n',
    'a metric that comes twice': '# HELP a b\n# TYPE a gauge\na 1\n# HELP a b\n# TYPE a gauge\na 2\n',
    'a quote that is not escaped': '# HELP a b\n# TYPE a gauge\na{x="y"z"} 1\n',
    'a value that is none': '# HELP a b\n# TYPE a gauge\na one\n',
    'a bucket without its bound': '# HELP a b\n# TYPE a histogram\na_bucket 1\n',
    'a last line without an end': '# HELP a b\n# TYPE a gauge\na 1',
  })) {
    it(`refuses ${what}`, () => {
      expect(() => parseExposition(text)).to.throw();
    });
  }
});
