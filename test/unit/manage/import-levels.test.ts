import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { addLocations } from '../../../shared/database/locations.js';
import { checkLedger } from '../../../shared/database/ledger-check.js';
import { createShop } from '../../../shared/database/shops.js';
import { importMaterials } from '../../../shared/manage/import-materials.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { openManagedShop } from './run-manage.js';
import type { Cli, ManagedShop } from './run-manage.js';

/** More than twice the rows that a request may have. */
const locationIds = Array.from({ length: 2_001 }, (_, index) => `L${index}`);

describe('the opening stock of npm run manage -- materials import', () => {
  let managed: ManagedShop;
  let database: Database;
  let cli: Cli;
  let shopId: number;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;

  before(async () => {
    managed = await openManagedShop();
    ({ database, cli } = managed);
    folder = await temporaryFolder();
    shopId = (await createShop(database, { name: 'Import', plan: 'enhanced' })).id;
    const locations = locationIds.map((id) => ({ id, name: id }));
    await addLocations(database, shopId, locations);
  });
  after(async () => {
    await managed.close();
    await folder.remove();
  });

  async function importing(name: string, content: string): Promise<string[]> {
    const path = join(folder.path, name);
    await writeFile(path, content);
    return ['materials', 'import', '--shop', String(shopId), path];
  }

  it('may be at more locations than a request has rows', async () => {
    const levels = Object.fromEntries(locationIds.map((id, index) => [id, index]));
    const args = await importing('a.jsonl', JSON.stringify({ productName: 'Wax', levels }));
    expect(await cli.answer<object>(args)).to.include({ imported: 1, levels: locationIds.length });
    const check = await checkLedger(database, { shopId });
    const booked = { levels: locationIds.length, entries: locationIds.length, materials: 1 };
    expect(check).to.deep.include({ ...booked, mismatchCount: 0 });
  });

  it('of many locations goes in by statements of a bounded size, each material whole', async () => {
    const levels = Object.fromEntries(locationIds.map((id, index) => [id, index]));
    const line = JSON.stringify({ productName: 'Wax', levels });
    const path = join(folder.path, 'many.jsonl');
    await writeFile(path, `${line}\n`.repeat(16));
    const longest: number[] = [];
    const note = ({ sql, bindings }: { sql: string; bindings: unknown[] }) => {
      if (!sql.includes('INSERT INTO ledger')) return;
      // Each is an array in Postgres' own form, and no text of these materials has a comma.
      longest.push(Math.max(...bindings.map((value) => String(value).split(',').length)));
    };
    database.on('query', note);
    const shop = { locationIds: new Set(locationIds), defaultLocationId: null };
    const job = { shopId, shop, path, format: 'jsonl', skipBad: false } as const;
    const outcome = await importMaterials(database, job, () => undefined).finally(() => database.off('query', note));
    expect(outcome).to.deep.include({ value: { imported: 16, levels: 32_016, badCount: 0, badLines: [] } });
    expect(longest).to.deep.equal([10 * 2_001, 6 * 2_001]);
    expect(await checkLedger(database, { shopId })).to.deep.include({ mismatchCount: 0 });
  });

  // JSON.parse takes the last one.
  const twice: [string, string, string, string][] = [
    ['a field of a line', 'a.jsonl', '{"productName":"Wax","unitCost":1,"unitCost":2}', 'line 1: unitCost'],
    ['a location of a line', 'a.jsonl', '{"productName":"Wax","levels":{"L1":1,"L\\u0031":2}}', 'line 1: levels/L1'],
    ['a location of a cell', 'a.csv', 'productName,levels\nWax,"{""L1"":1,""L1"":2}"', 'line 2: levels/L1'],
  ];
  for (const [what, name, content, place] of twice) {
    it(`is not guessed where ${what} is given twice: nothing is imported`, async () => {
      const args = await importing(name, `${content}\n`);
      expect(await cli.refusal(args)).to.equal(
        `Nothing was imported.\nOne line is bad:\n  ${place}: Is given more than once.`,
      );
    });
  }

  const repeated: [string, string, string][] = [
    ['that is given three times', 'L1:1;L1:2;L1:3', 'levels: The location L1 is given more than once.'],
    [
      'that is unknown, and given twice',
      'X:1;X:2',
      'levels: The shop has no location X. levels: The location X is given more than once.',
    ],
  ];
  for (const [what, cell, faults] of repeated) {
    it(`says once what is wrong with a location ${what}`, async () => {
      const args = await importing('a.csv', `productName,levels\nWax,${cell}\n`);
      expect(await cli.refusal(args)).to.equal(`Nothing was imported.\nOne line is bad:\n  line 2: ${faults}`);
    });
  }
});
