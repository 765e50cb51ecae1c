import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { importTextMax } from '../../../shared/database/insert-materials-with-stock.js';
import { readBatches } from '../../../shared/manage/read-batches.js';
import type { ParsedLine } from '../../../shared/manage/read-batches.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

describe('what an import reads at once', () => {
  it('is as much text as one statement writes, though its lines are few', async () => {
    const folder = await temporaryFolder();
    const path = join(folder.path, 'long.csv');
    const [lines, length] = [2_500, 5_000];
    const line = `Wax,${'x'.repeat(length)}\n`;
    await writeFile(path, `productName,specifications\n${line.repeat(lines)}`);
    const batches: ParsedLine[][] = [];
    const shop = { locationIds: new Set<string>(), defaultLocationId: null };
    for await (const batch of readBatches({ path, format: 'csv', shop }, () => undefined)) batches.push(batch);
    await folder.remove();
    const numbers = batches.flat().map((parsed) => parsed.line);
    expect(numbers).to.deep.equal(Array.from({ length: lines }, (_, index) => index + 2));
    expect(batches.length).to.be.greaterThan(2);
    for (const batch of batches) expect(batch.length * length).to.be.at.most(importTextMax + length);
  });
});
