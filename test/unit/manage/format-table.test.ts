import { expect } from 'chai';
import { formatFields, formatTable } from '../../../shared/manage/format-table.js';

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
});
