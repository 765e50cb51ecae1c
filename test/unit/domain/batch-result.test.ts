import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
import { batchResultSchema, reportedBatchResultSchema } from '../../../shared/contract/batch-result.js';
import type { RowFailureCode } from '../../../shared/domain/adjustment.js';
import { batchResult } from '../../../shared/domain/batch-result.js';
import type { RowChange, RowFailure } from '../../../shared/domain/batch-result.js';

const failure = (index: number, code: RowFailureCode): RowFailure => ({ index, code, message: `row ${index}` });

describe('the result of a batch', () => {
  it('has an entry a row, in order, and counts that add up', () => {
    expect(batchResult('VMAT-1', 3, [failure(1, 'NOT_FOUND')])).to.deep.equal({
      ok: true,
      data: {
        results: [
          { index: 0, ok: true, id: 'VMAT-1' },
          { index: 1, ok: false, error: { code: 'NOT_FOUND', message: 'row 1' } },
          { index: 2, ok: true, id: 'VMAT-1' },
        ],
        okCount: 2,
        failedCount: 1,
        skippedCount: 0,
      },
    });
  });

  for (const code of ['NOT_FOUND', 'INVALID_INPUT', 'CONFLICT'] as const) {
    it(`collapses to one request error where every row failed with ${code}`, () => {
      expect(batchResult('VMAT-1', 2, [failure(0, code), failure(1, code)])).to.deep.equal({
        ok: false,
        error: {
          code,
          message: 'row 0',
          details: [
            { path: '/updates/0', message: 'row 0' },
            { path: '/updates/1', message: 'row 1' },
          ],
        },
      });
    });
  }

  it('collapses a single failed row', () => {
    expect(batchResult('VMAT-1', 1, [failure(0, 'NOT_FOUND')]).ok).to.equal(false);
  });

  it('does not collapse where the codes differ', () => {
    const result = batchResult('VMAT-1', 2, [failure(0, 'NOT_FOUND'), failure(1, 'CONFLICT')]);
    expect(result).to.have.nested.property('data.okCount', 0);
    expect(result).to.have.nested.property('data.failedCount', 2);
  });

  it('does not collapse where a row succeeded', () => {
    expect(batchResult('VMAT-1', 2, [failure(0, 'NOT_FOUND')]).ok).to.equal(true);
  });

  it('of no rows is no error: there is no row that failed', () => {
    expect(batchResult('VMAT-1', 0, [])).to.deep.equal({
      ok: true,
      data: { results: [], okCount: 0, failedCount: 0, skippedCount: 0 },
    });
  });
});

const change = (index: number): RowChange => ({
  index,
  locationId: `L${index}`,
  previous: 5_500_000,
  applied: -5_500_000,
  level: 0,
  clamped: true,
});

describe('the result of a batch with what its rows did', () => {
  it('reports each ok row in units, and failed rows as ever', () => {
    const failures = [{ index: 1, code: 'CONFLICT' as const, message: 'No.' }];
    const result = batchResult('VMAT-1', 3, failures, [change(0), change(2)]);
    const report = { previous: 5.5, applied: -5.5, level: 0, clamped: true };
    expect(result.ok && result.data.results).to.deep.equal([
      { index: 0, ok: true, id: 'VMAT-1', locationId: 'L0', ...report },
      { index: 1, ok: false, error: { code: 'CONFLICT', message: 'No.' } },
      { index: 2, ok: true, id: 'VMAT-1', locationId: 'L2', ...report },
    ]);
  });

  it('is of its own schema and not of the default one, and the default result the other way round', () => {
    const [reported, plain] = [batchResult('V', 1, [], [change(0)]), batchResult('V', 1, [])].map(
      (result) => result.ok && result.data,
    );
    expect(ajv.validate(reportedBatchResultSchema, reported), ajv.errorsText()).to.equal(true);
    expect(ajv.validate(batchResultSchema, reported)).to.equal(false);
    expect(ajv.validate(batchResultSchema, plain)).to.equal(true);
    expect(ajv.validate(reportedBatchResultSchema, plain)).to.equal(false);
  });
});
