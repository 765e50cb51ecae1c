import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { createJudge } from '../../../shared/manage/judge-lines.js';
import type { BadLines } from '../../../shared/manage/judge-lines.js';
import type { ParsedLine } from '../../../shared/manage/read-batches.js';

/** The most lines that a report names. */
const namedMax = 10_000;
/** Lines that are bad by themselves are nothing to ask a database about. */
const nobody = {} as unknown as Database;

describe('the judge of the lines of an import', () => {
  it('counts every bad line, and names so many of them as are of use to anybody', async () => {
    const report: BadLines = { badCount: 0, badLines: [] };
    const judge = createJudge(nobody, 1, report);
    const lines = (from: number, count: number) =>
      Array.from({ length: count }, (_, index): ParsedLine => {
        return { line: from + index, parsed: { ok: false, faults: ['sku: Must be a string.'] } };
      });
    for (const batch of [lines(1, namedMax - 1), lines(namedMax, 2)]) {
      expect(await judge(batch)).to.deep.equal({ ok: true, value: [] });
    }
    expect(report.badCount).to.equal(namedMax + 1);
    expect(report.badLines).to.have.lengthOf(namedMax);
    expect(report.badLines.at(-1)).to.deep.equal({ line: namedMax, faults: ['sku: Must be a string.'] });
  });

  it('ends at a line behind which nothing can be read', async () => {
    const judge = createJudge(nobody, 1, { badCount: 0, badLines: [] });
    const good = await judge([{ line: 7, parsed: { ok: false, faults: ['A quote is not closed.'], isFatal: true } }]);
    expect(good)
      .to.have.property('problem')
      .that.matches(/^Line 7 cannot be read.* A quote is not closed\.$/);
  });
});
