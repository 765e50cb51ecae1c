import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readRecords } from '../../../shared/manage/read-records.js';
import type { FileFormat, ImportRecord } from '../../../shared/manage/read-records.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const knownFields = ['id', 'vendor'];

describe('the lines of a CSV file', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  before(async () => (folder = await temporaryFolder()));
  after(() => folder.remove());

  async function recordsOf(content: string | Buffer, format: FileFormat = 'csv'): Promise<ImportRecord[]> {
    const path = join(folder.path, `a.${format}`);
    await writeFile(path, content);
    const records: ImportRecord[] = [];
    for await (const record of readRecords({ path, format, knownFields }, () => undefined)) records.push(record);
    return records;
  }

  const mixtures: [string, string, number[]][] = [
    ['LF after the head and CRLF after the rows', 'id,vendor\nA,Acme\r\nB,Acme\r\nC,Acme\r\n', [2, 3, 4]],
    ['CRLF after the head and LF after the rows', 'id,vendor\r\nA,Acme\nB,Acme\nC,Acme\n', [2, 3, 4]],
    ['CR after the head and LF after the rows', 'id,vendor\rA,Acme\nB,Acme\nC,Acme\n', [2, 3, 4]],
    ['LF after the head and CR after the rows', 'id,vendor\nA,Acme\rB,Acme\rC,Acme', [2, 3, 4]],
    ['CR everywhere', 'id,vendor\rA,Acme\rB,Acme\rC,Acme\r', [2, 3, 4]],
    ['one of each', 'id,vendor\nA,Acme\r\nB,Acme\rC,Acme\n', [2, 3, 4]],
    ['blank lines of each kind', 'id,vendor\n\r\nA,Acme\r\n\r\n\nB,Acme\n\r\n\r\nC,Acme', [3, 6, 9]],
  ];
  for (const [name, content, lines] of mixtures) {
    it(`end with ${name}, and no part of a line end is one of a cell`, async () => {
      expect(await recordsOf(content)).to.deep.equal(
        ['A', 'B', 'C'].map((id, index) => ({ line: lines[index], values: { id, vendor: 'Acme' } })),
      );
    });
  }

  for (const [name, lineEnd] of [
    ['CR', '\r'],
    ['CRLF', '\r\n'],
    ['LF', '\n'],
  ] as const) {
    it(`end with ${name} in a file of any length`, async () => {
      const ids = Array.from({ length: 5_000 }, (_, index) => `VMAT-${index}`);
      // Longer than a line may be, and than what is read at once, by a prime.
      const vendor = 'x'.repeat(251);
      const content = ['id,vendor', ...ids.map((id) => `${id},${vendor}`)].join(lineEnd);
      const wanted = ids.map((id, index) => ({ line: index + 2, values: { id, vendor } }));
      expect(await recordsOf(content)).to.deep.equal(wanted);
    });

    it(`end with ${name} also where one is not UTF-8, and that one is named`, async () => {
      const content = ['id,vendor', 'A,Acme', 'B,\xff', 'C,Acme', ''].join(lineEnd);
      const records = await recordsOf(Buffer.from(content, 'latin1'));
      expect(records.at(-1)).to.deep.equal({ line: 3, fault: 'The line is not UTF-8.', isFatal: true });
    });
  }

  it('are counted as an editor does, over line ends within quotes, which are kept as they are', async () => {
    const content = 'id,vendor\nA,"one\r\ntwo\nthree\r\n"\r\n\r\nB,"four\r\nfive"\nC,Acme\r\nD\r\n';
    expect(await recordsOf(content)).to.deep.equal([
      { line: 2, values: { id: 'A', vendor: 'one\r\ntwo\nthree\r\n' } },
      { line: 7, values: { id: 'B', vendor: 'four\r\nfive' } },
      { line: 9, values: { id: 'C', vendor: 'Acme' } },
      { line: 10, fault: 'The line has 1 cells, and the head 2.' },
    ]);
  });

  it('are none where they hold nothing but blanks and commas, and count all the same', async () => {
    expect(await recordsOf('\n ,\nid,vendor\n,\n \t\nA,Acme\n,,,\n"  "\n')).to.deep.equal([
      { line: 6, values: { id: 'A', vendor: 'Acme' } },
    ]);
  });

  it('begin with a head, without which there is no file of materials', async () => {
    for (const content of ['', '\n', '\ufeff\r\n ,\r\n']) {
      expect(await recordsOf(content)).to.deep.equal([
        { line: 1, fault: 'The file is empty: its first line is the head.', isFatal: true },
      ]);
    }
    expect(await recordsOf('id,vendor\n')).to.deep.equal([]);
  });

  for (const separator of [';', '\t']) {
    it(`are not divided by ${JSON.stringify(separator)}, and the head says by what`, async () => {
      const [head] = await recordsOf(['id', 'vendor\nA', 'Acme\n'].join(separator));
      expect(head).to.include({ line: 1, fault: 'The head has no comma: cells are separated by commas.' });
    });
  }

  it('have a head that may have blanks around its names', async () => {
    expect(await recordsOf('id , vendor\nA,Acme\n')).to.deep.equal([{ line: 2, values: { id: 'A', vendor: 'Acme' } }]);
  });

  it('have commas where the head has one, also beside a name that is not known', async () => {
    const fault = 'The head has columns that are not known: a;b; known are id, vendor.';
    expect(await recordsOf('a;b,id\n')).to.deep.equal([{ line: 1, fault, isFatal: true }]);
  });

  it('are told by its begin where a quote is never closed, however much comes behind it', async () => {
    for (const rest of ['C,Acme\r\n', 'C,Acme\r\n'.repeat(200_000)]) {
      const records = await recordsOf(`id,vendor\r\nA,"one\r\ntwo"\r\nB,"Acme\r\n${rest}`);
      expect(records.at(-1)).to.deep.include({ line: 4, isFatal: true });
    }
  });

  for (const [name, cell, fault] of [
    ['in a cell without quotes', 'a"b', /^A cell that does not begin with a quote has one in it\. /],
    ['behind which a cell goes on', '"a"b', /^After a quote that closes a cell there is something other /],
  ] as const) {
    it(`say of a quote ${name} what is wrong and what to do, in words of ours`, async () => {
      const records = await recordsOf(`id,vendor\n${cell},Acme\n`);
      expect(records).to.have.lengthOf(1);
      expect(records[0]).to.include({ line: 2, isFatal: true });
      expect(records[0])
        .to.have.property('fault')
        .that.matches(fault)
        .and.matches(/, (and )?double each quote/);
    });
  }

  it('name what is at fault without what moves a terminal, and only the begin of what is long', async () => {
    const name = `\u001b[2J${'x'.repeat(100_000)}`;
    const shown = `\ufffd[2J${'x'.repeat(76)}…`;
    const [head] = await recordsOf(`id,${name}\n`);
    const fault = `The head has columns that are not known: ${shown}; known are id, vendor.`;
    expect(head).to.deep.equal({ line: 1, fault, isFatal: true });
    const [line] = await recordsOf(`{"\\u001b[2J":1,"\\u001b[2J":2}\n`, 'jsonl');
    expect(line).to.deep.equal({ line: 1, fault: '\ufffd[2J: Is given more than once.' });
  });

  it('say which column of the head has no name', async () => {
    const fault = 'The head has no name for column 3: is there a comma too many?';
    expect(await recordsOf('id,vendor,\nA,Acme,\n')).to.deep.equal([{ line: 1, fault, isFatal: true }]);
  });

  for (const format of ['csv', 'jsonl'] as const) {
    it(`are not read into memory where one of ${format} does not end within a mebibyte`, async () => {
      const path = join(folder.path, `endless.${format}`);
      await writeFile(path, `vendor\n${'x'.repeat(3_145_728)}`);
      const bytes: number[] = [];
      const records: ImportRecord[] = [];
      const onBytes = (read: number) => bytes.push(read);
      for await (const record of readRecords({ path, format, knownFields }, onBytes)) records.push(record);
      const fault = 'The line has more than 1048576 bytes.';
      expect(records.at(-1)).to.deep.equal({ line: 2, fault, isFatal: true });
      expect(Math.max(...bytes)).to.be.below(2 * 1_048_576);
    });
  }

  for (const format of ['csv', 'jsonl'] as const) {
    it(`are none of a folder named as ${format}, which the system does not read`, async () => {
      const path = join(folder.path, `folder.${format}`);
      await mkdir(path);
      const records: ImportRecord[] = [];
      for await (const record of readRecords({ path, format, knownFields }, () => undefined)) records.push(record);
      const fault = 'EISDIR: illegal operation on a directory, read.';
      expect(records).to.deep.equal([{ line: 1, fault, isFatal: true }]);
    });
  }

  it('are counted the same where one cannot be read, and only one number is told', async () => {
    const records = await recordsOf('id,vendor\r\nA,"one\r\ntwo"\r\nB,a"b\r\n');
    const last = records.at(-1);
    expect(last).to.deep.include({ line: 4, isFatal: true });
    expect(last)
      .to.have.property('fault')
      .that.matches(/quote/i)
      .and.does.not.match(/line \d/);
  });

  it('name the field at fault of one of JSONL, and none where it is the whole line', async () => {
    const levels = Object.fromEntries(Array.from({ length: 20_001 }, (_, location) => [location, 1]));
    expect(await recordsOf(`${JSON.stringify({ levels })}\n{"id":1,"id":2}\n`, 'jsonl')).to.deep.equal([
      { line: 1, fault: 'Holds more than 20000 members and items.' },
      { line: 2, fault: 'id: Is given more than once.' },
    ]);
  });
});
