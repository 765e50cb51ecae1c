import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Knex } from 'knex';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { addLocations } from '../../../shared/database/locations.js';
import { checkLedger } from '../../../shared/database/ledger-check.js';
import { findLevels } from '../../../shared/database/levels.js';
import { findMaterialPage } from '../../../shared/database/material-list.js';
import { findMaterial } from '../../../shared/database/materials.js';
import { createShop, updateShop } from '../../../shared/database/shops.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';
import { openManagedShop, startManage } from './run-manage.js';
import type { Cli, ManagedShop, StartedRun } from './run-manage.js';

interface Report {
  imported: number;
  levels: number;
  badCount: number;
  badLines: { line: number; faults: string[] }[];
}

/** More than a statement of the import takes. */
const manyLines = 7_000;
const takenId = `VMAT-${manyLines - 1}`;

describe('npm run manage -- materials import', () => {
  let managed: ManagedShop;
  let database: Database;
  let cli: Cli;
  let shopId: number;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;

  before(async () => {
    managed = await openManagedShop();
    ({ database, cli } = managed);
    folder = await temporaryFolder();
  });
  after(async () => {
    await managed.close();
    await folder.remove();
  });
  beforeEach(async () => {
    shopId = (await createShop(database, { name: 'Import', plan: 'enhanced' })).id;
    await addLocations(
      database,
      shopId,
      ['70001', 'b=c'].map((id) => ({ id, name: id })),
    );
  });

  async function file(name: string, content: string | Buffer): Promise<string> {
    const path = join(folder.path, name);
    await writeFile(path, content);
    return path;
  }
  const args = (path: string, ...more: string[]) => ['materials', 'import', '--shop', String(shopId), path, ...more];

  /** How many rows there are of everything that an import writes, and what the list counts. */
  async function counts() {
    const { rows } = await database.raw<{ rows: Record<string, number>[] }>(
      `SELECT (SELECT count(*) FROM materials WHERE shop_id = :shopId)::int AS materials,
              (SELECT count(*) FROM stock WHERE shop_id = :shopId)::int AS stock,
              (SELECT count(*) FROM levels WHERE shop_id = :shopId)::int AS levels,
              (SELECT count(*) FROM ledger WHERE shop_id = :shopId)::int AS ledger`,
      { shopId },
    );
    const listed = await findMaterialPage(database, shopId, {
      ...{ page: 1, pageSize: 1, usageFilter: 'all', originFilter: 'all', vendorFilter: [] },
      ...{ sortBy: 'productName', sortOrder: 'asc' },
    });
    return { ...rows[0], listed: listed.totalCount, vendors: listed.availableVendors };
  }
  const nothing = { materials: 0, stock: 0, levels: 0, ledger: 0, listed: 0, vendors: [] };

  it('takes CSV with a byte order mark, CRLF, quotes, cells over several lines and empty cells', async () => {
    const path = await file(
      'a.csv',
      '\ufeffid,productName,variantName,sku,unitCost,isNonEssentialMaterial,specifications,vendor,levels\r\n' +
        'VMAT-1,"Wax, ""soft""",Öko,,1.2345675,TRUE,"two\r\nlines",Acme,70001:12.5;b=c:0.000001\r\n' +
        '\r\n' +
        'VMAT-2,Oil,,S-2,1.2E+03,,,Acme,"{""70001"": 3}"\r\n',
    );
    const report = await cli.answer<Report & { seconds: number }>(args(path));
    expect(report).to.deep.include({ imported: 2, levels: 3, badCount: 0, badLines: [] });
    expect(await findMaterial(database, shopId, 'VMAT-1')).to.deep.include({
      ...{
        productName: 'Wax, "soft"',
        variantName: 'Öko',
        sku: null,
        unitCost: 1.234568,
        isNonEssentialMaterial: true,
      },
      ...{ specifications: 'two\r\nlines', vendor: 'Acme', inventoryQuantity: 12.500001, origin: 'virtual' },
    });
    expect((await findMaterial(database, shopId, 'VMAT-2'))?.unitCost).to.equal(1_200);
    const { levels = [] } = (await findLevels(database, shopId, 'VMAT-1')) ?? {};
    const quantities = levels.map(({ locationId, quantity }) => `${locationId}: ${quantity}`);
    expect(quantities).to.deep.equal(['70001: 12.5', 'b=c: 0.000001']);
    const written = { materials: 2, stock: 2, levels: 3, ledger: 3 };
    expect(await counts()).to.deep.equal({ ...written, listed: 2, vendors: ['Acme'] });
  });

  it('takes JSON lines, draws ids where none are given, and books a quantity at the default location', async () => {
    await updateShop(database, shopId, { defaultLocationId: '70001' });
    const lines = [
      { productName: 'Wax', inventoryQuantity: 7, vendor: null, unitPrice: 0.1 + 0.2 },
      { id: null, productName: 'Oil', levels: { 'b=c': 2 } },
      { productName: 'NULL', sku: '{"a\\', levels: { 'b=c': 0 } },
    ];
    const path = await file('a.jsonl', `${lines.map((line) => JSON.stringify(line)).join('\n\n')}\n`);
    expect(await cli.answer<Report>(args(path))).to.include({ imported: 3, levels: 3 });
    const { rows } = await database.raw<{
      rows: { id: string; sku: string | null; location_id: string; quantity: string }[];
    }>(
      'SELECT m.id, m.sku, l.location_id, l.quantity FROM materials m JOIN levels l ON l.material_id = m.id WHERE m.shop_id = ? ORDER BY product_name DESC',
      [shopId],
    );
    expect(rows.map(({ sku, location_id, quantity }) => [sku, location_id, Number(quantity)])).to.deep.equal([
      [null, '70001', 7],
      [null, 'b=c', 2],
      ['{"a\\', 'b=c', 0],
    ]);
    for (const { id } of rows) expect(id).to.match(/^VMAT-VAR-[0-9a-f-]{36}$/);
  });

  it('books opening stock through the ledger, where every level and total can be recomputed from', async () => {
    const path = await file('a.csv', 'productName,levels\nWax,70001:5;b=c:2\nOil,70001:0\n');
    await cli.answer(args(path));
    const check = await checkLedger(database, { shopId });
    expect(check).to.deep.include({ levels: 3, entries: 3, materials: 2, mismatchCount: 0 });
    const { rows } = await database.raw<{ rows: object[] }>(
      'SELECT DISTINCT channel, reason, clamped FROM ledger WHERE shop_id = ?',
      [shopId],
    );
    expect(rows).to.deep.equal([{ channel: 'import', reason: 'Opening stock', clamped: false }]);
  });

  const badLines: [string, string, string][] = [
    ['a name that is missing', 'VMAT-1,,,', 'productName: Is required.'],
    ['a number that is none', 'VMAT-1,Wax,"1,5",', 'unitCost: Must be a decimal number, as 12.5.'],
    ['a number beyond its bound', 'VMAT-1,Wax,1000000001,', 'unitCost: Must be at most 1000000000.'],
    ['an id of a platform variant', '4711,Wax,,', 'id: Must be VMAT- and 1 to 64 letters, digits or hyphens.'],
    ['an unknown location', 'VMAT-1,Wax,,5:1', 'levels: The shop has no location 5.'],
    ['a location given twice', 'VMAT-1,Wax,,70001:1;70001:2', 'levels: The location 70001 is given more than once.'],
    [
      'a level below zero',
      'VMAT-1,Wax,,70001:-1',
      'levels: The quantity at 70001 must be a number from 0 to 1000000000.',
    ],
    [
      'levels that cannot be read',
      'VMAT-1,Wax,,12',
      'levels: Must be location:quantity;location:quantity, or a JSON object of these.',
    ],
    ['too few cells', 'VMAT-1,Wax', 'The line has 2 cells, and the head 4.'],
  ];
  for (const [name, line, fault] of badLines) {
    it(`names the line of ${name}, and imports nothing`, async () => {
      const path = await file('a.csv', `id,productName,unitCost,levels\nVMAT-9,"Good\none",1,70001:1\n${line}\n`);
      expect(await cli.refusal(args(path))).to.equal(`Nothing was imported.\nOne line is bad:\n  line 4: ${fault}`);
      expect(await counts()).to.deep.equal(nothing);
    });
  }

  it('names every fault of every bad line of JSON lines, unknown fields included', async () => {
    const path = await file(
      'a.jsonl',
      '{"productName":"","colour":"red"}\n[]\n{"productName":"Wax","inventoryQuantity":1}\n{',
    );
    expect(await cli.refusal(args(path))).to.equal(
      [
        'Nothing was imported.\n4 lines are bad:',
        '  line 1: colour: Is no known field. productName: Must not be empty.',
        '  line 2: The line is not a JSON object.',
        '  line 3: inventoryQuantity: The shop has no default location to book a total at.',
        '  line 4: The line is not valid JSON.',
      ].join('\n'),
    );
  });

  it('imports nothing of thousands of lines when the last one is bad; with --skip-bad all but that', async () => {
    const path = await file('a.csv', `${manyMaterials()}VMAT-bad,,,\n`);
    expect(await cli.refusal(args(path))).to.contain(`line ${manyLines + 2}: productName: Is required.`);
    expect(await counts()).to.deep.equal(nothing);
    const report = await cli.answer<Report>(args(path, '--skip-bad'));
    expect(report).to.deep.include({ imported: manyLines, badCount: 1 });
    expect(report.badLines).to.deep.equal([{ line: manyLines + 2, faults: ['productName: Is required.'] }]);
    const all = { materials: manyLines, stock: manyLines, levels: manyLines, ledger: manyLines, listed: manyLines };
    expect(await counts()).to.deep.equal({ ...all, vendors: ['Acme'] });
  });

  it('takes no id twice: of the shop, of the file, or of the same file once more', async () => {
    await createMaterials(database, shopId, [{ id: 'VMAT-1', origin: 'virtual', productName: 'Old' }]);
    const path = await file('a.csv', 'id,productName\nVMAT-1,Wax\nVMAT-2,Oil\nVMAT-2,Oil\n');
    const report = await cli.answer<Report>(args(path, '--skip-bad'));
    expect(report).to.deep.include({ imported: 1, badCount: 2 });
    expect(report.badLines).to.deep.equal([
      { line: 2, faults: ['id: The shop has a material VMAT-1 already, or stock of it.'] },
      { line: 4, faults: ['id: VMAT-2 is that of line 3 already.'] },
    ]);
    expect(await cli.answer<Report>(args(path, '--skip-bad'))).to.deep.include({ imported: 0, badCount: 3 });
    expect(await findMaterial(database, shopId, 'VMAT-1')).to.include({ productName: 'Old' });
  });

  const unreadable: [string, string, string | Buffer, RegExp][] = [
    ['a misspelt column', 'a.csv', 'productName,vendors\nWax,x\n', /^Line 1 .*not known: vendors;/],
    ['a column named twice', 'a.csv', 'productName,sku,sku\nWax,1,2\n', /^Line 1 .*names the column sku twice/],
    [
      'a quote that is not closed',
      'a.csv',
      'productName\nWax\n"Oil\nx\n',
      /^Line 3 cannot be read.*is a quote not closed\?/,
    ],
    ['CSV that is not UTF-8', 'a.csv', Buffer.from('productName\nWax\n\xd6l\n', 'latin1'), /^Line 3 .*not UTF-8/],
  ];
  for (const [name, fileName, content, problem] of unreadable) {
    it(`refuses ${name} with a sentence, also with --skip-bad`, async () => {
      const path = await file(fileName, content);
      expect(await cli.refusal(args(path))).to.match(problem);
      expect(await cli.refusal(args(path, '--skip-bad'))).to.match(problem);
      expect(await counts()).to.deep.equal(nothing);
    });
  }

  it('skips a line of JSON that is not UTF-8, since the others can be told apart', async () => {
    const path = await file('a.jsonl', Buffer.from('{"productName":"\xd6l"}\n{"productName":"Wax"}\n', 'latin1'));
    const report = await cli.answer<Report>(args(path, '--skip-bad'));
    expect(report).to.deep.include({ imported: 1, badLines: [{ line: 1, faults: ['The line is not UTF-8.'] }] });
  });

  it('refuses a file that is not there, and a shop that does not exist', async () => {
    expect(await cli.refusal(args(join(folder.path, 'none.csv')))).to.match(/^The file cannot be read: ENOENT/);
    const other = ['materials', 'import', '--shop', '999', await file('a.csv', 'productName\nWax\n')];
    expect(await cli.refusal(other)).to.equal('There is no shop 999.');
  });

  describe('while it writes', () => {
    /** An import that waits in its second statement, where it meets an id that another session is about to take. */
    async function heldUp(...more: string[]): Promise<{ importing: StartedRun; other: Knex.Transaction }> {
      const path = await file('a.csv', manyMaterials());
      const other = await database.transaction();
      await createMaterials(other, shopId, [{ id: takenId, origin: 'virtual', productName: 'Taken' }]);
      const importing = startManage(args(path, ...more), { DATABASE_URL: managed.databaseUrl });
      const isWaiting = async () => (await backends(`AND wait_event_type = 'Lock'`)) === 1;
      await until(isWaiting, { deadlineMs: 30_000, what: 'the import to wait' });
      return { importing, other };
    }

    for (const [signal, code] of Object.entries({ SIGKILL: null, SIGINT: 130, SIGTERM: 143 })) {
      it(`is ended by ${signal}, and leaves nothing behind${code === null ? '' : ', and says so'}`, async () => {
        const { importing, other } = await heldUp('--json');
        importing.child.kill(signal as NodeJS.Signals);
        const message = `Nothing was imported: ${signal} came before the commit.`;
        const said = { stdout: `${JSON.stringify({ error: { message } })}\n`, stderr: `${message}\n` };
        expect(await importing.ended).to.deep.equal({ code, ...(code === null ? { stdout: '', stderr: '' } : said) });
        await other.rollback();
        await until(async () => (await backends()) === 0, { deadlineMs: 30_000, what: 'its session to end' });
        expect(await counts()).to.deep.equal(nothing);
      });
    }

    it('imports nothing where somebody else takes one of the ids, and says so', async () => {
      const { importing, other } = await heldUp();
      await other.commit();
      expect(await importing.ended).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: 'An id was taken by somebody else meanwhile; nothing was imported. Run the import again.\n',
      });
      expect(await counts()).to.include({ materials: 1, listed: 1 });
    });

    it('holds up nobody who creates a material of the same vendor, and both are counted', async () => {
      const { importing, other } = await heldUp();
      const own = { id: 'VMAT-own', origin: 'virtual', productName: 'Own', vendor: 'Acme' } as const;
      expect(await createMaterials(database, shopId, [own])).to.deep.equal(['VMAT-own']);
      expect(await counts()).to.deep.include({ materials: 1, listed: 1, vendors: ['Acme'] });
      await other.rollback();
      expect(await importing.ended).to.include({ code: 0 });
      expect(await counts()).to.include({ materials: manyLines + 1, listed: manyLines + 1 });
    });
  });

  /** Sessions of the command line on this database. */
  async function backends(more = ''): Promise<number> {
    const { rows } = await database.raw<{ rows: [{ count: number }] }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'raw-materials-manage' ${more}`,
    );
    return rows[0].count;
  }
});

function manyMaterials(): string {
  const lines = Array.from({ length: manyLines }, (_, index) => `VMAT-${index},Material ${index},Acme,70001:1`);
  return `id,productName,vendor,levels\n${lines.join('\n')}\n`;
}
