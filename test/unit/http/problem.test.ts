import { expect } from 'chai';
import { problemBody, wantsProblem } from '../../../api/http/problem.js';
import { ajv } from '../../../shared/contract/ajv.js';
import { problemSchema } from '../../../shared/contract/problem.js';
import { statusByCode } from '../../../shared/domain/errors.js';
import type { ErrorCode } from '../../../shared/domain/errors.js';

const accepts: [accept: string | undefined, wants: boolean][] = [
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/*', false],
  ['application/json', false],
  ['application/problem+xml', false],
  ['application/problem+json', true],
  ['Application/Problem+JSON;charset=utf-8', true],
  ['application/json, application/problem+json', true],
  ['application/problem+json;q=0.5, */*;q=0.1', true],
  ['application/problem+json;q=0', false],
  ['application/json, application/problem+json;q=0.9', false],
  ['application/json;q=0.8 , application/problem+json ; q=0.9', true],
];

describe('an error as a problem', () => {
  for (const [accept, wants] of accepts) {
    it(`is ${wants ? '' : 'not '}for who accepts ${String(accept)}`, () => {
      expect(wantsProblem(accept)).to.equal(wants);
    });
  }

  it('is of its schema for every code, with the phrase of its status', () => {
    const requestId = '0197f9a5-0000-7000-8000-000000000000';
    const isProblem = ajv.compile(problemSchema);
    for (const code of Object.keys(statusByCode) as ErrorCode[]) {
      const body = JSON.parse(problemBody({ code, message: 'No.' }, requestId)) as object;
      expect(isProblem(body), `${code}: ${ajv.errorsText(isProblem.errors)}`).to.equal(true);
      expect(body).to.include({ type: 'about:blank', status: statusByCode[code], code, detail: 'No.', requestId });
      expect(body).to.include({ instance: `urn:uuid:${requestId}` });
    }
  });

  it('has the details of the error, and none where it has none', () => {
    const details = [{ path: '/sku', message: 'No.' }];
    const body = (more: object) =>
      JSON.parse(problemBody({ code: 'INVALID_INPUT', message: 'No.', ...more }, 'x')) as object;
    expect(body({ details })).to.deep.include({ details, title: 'Bad Request' });
    expect(body({})).to.not.have.property('details');
  });
});
