import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
import { batchResultSchema, reportedBatchResultSchema } from '../../../shared/contract/batch-result.js';
import { batchResult } from '../../../shared/domain/batch-result.js';
import type { RowChange } from '../../../shared/domain/batch-result.js';

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
