import { expect } from 'chai';
import { counted, formatFields, formatTable, shownName } from '../../../shared/manage/format-table.js';

describe('tables for people', () => {
  it('have columns as wide as their widest cell, numbers to the right, no blanks at the end', () => {
    const rows = [
      ['a', 5, true],
      ['Öko', 1234.5, false],
      ['c', null, undefined],
    ];
    expect(formatTable(['name', 'n', 'flag'], rows).split('\n')).to.deep.equal([
      'name       n  flag',
      'a          5  yes',
      'Öko   1234.5  no',
      'c          -  -',
    ]);
  });

  it('have a head where there are no rows', () => {
    expect(formatTable(['id', 'name'], [])).to.equal('id  name');
  });

  it('have as many rows as there are, also more than one call takes arguments', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => [`key ${index}`]);
    expect(formatTable(['id'], rows).split('\n')).to.have.length(200_001);
  });

  it('let no name from outside move the cursor of a terminal', () => {
    const text = formatTable(['name'], [['\u001b[2Jgone\r\n\u009b1A']]);
    expect(text).to.equal('name\n\ufffd[2Jgone\ufffd\ufffd\ufffd1A');
    expect(formatFields([['name', 'a\nb']])).to.equal('name  a\ufffdb');
  });

  it('replace every control character, and no other', () => {
    expect(shownName('\u0000\u001f\u007f\u0080\u009f')).to.equal('\ufffd'.repeat(5));
    expect(shownName(' ~\u00a0')).to.equal(' ~\u00a0');
  });

  it('have the fields of one thing below each other', () => {
    const fields = [
      ['id', 7],
      ['rate limit', null],
    ] as const;
    expect(formatFields(fields)).to.equal('id          7\nrate limit  -');
  });

  it('count one thing as one, and none or several as several', () => {
    expect([0, 1, 2].map((count) => counted(count, 'level'))).to.deep.equal(['0 levels', '1 level', '2 levels']);
  });

  it('show a name of 80 characters whole, and of a longer one its begin', () => {
    expect(shownName('x'.repeat(80))).to.equal('x'.repeat(80));
    expect(shownName('x'.repeat(81))).to.equal(`${'x'.repeat(80)}…`);
  });
});
