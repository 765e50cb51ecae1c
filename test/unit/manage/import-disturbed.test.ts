import { once } from 'node:events';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import {
  facetsOfVendors,
  insertParameters,
  insertMaterialsWithStock,
} from '../../../shared/database/insert-materials-with-stock.js';
import { connectForTest } from '../../support/database/database.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';
import { openManagedShop, startManage } from './run-manage.js';
import type { ManagedShop, Run, StartedRun } from './run-manage.js';

/** From here on an import refreshes the statistics itself. */
const refreshedLines = 10_000;

describe('npm run manage -- materials import, what is not the fault of a line', () => {
  let managed: ManagedShop;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  before(async () => {
    managed = await openManagedShop();
    folder = await temporaryFolder();
  });
  after(async () => {
    await managed.close();
    await folder.remove();
  });

  const args = (path: string) => ['materials', 'import', '--shop', managed.shopId, path];

  /** Another session's lock lets rows in but holds up VACUUM, until `end` cancels it like an operator or a timeout. */
  async function importWithoutRefresh(content: string, end = cancelVacuum): Promise<Run> {
    const path = join(folder.path, 'many.csv');
    await writeFile(path, content);
    const { database, databaseUrl } = managed;
    const other = await database.transaction();
    try {
      await other.raw('LOCK TABLE materials IN SHARE UPDATE EXCLUSIVE MODE');
      const importing = startManage([...args(path), '--json'], { DATABASE_URL: databaseUrl });
      const isWaiting = async () => {
        const { rows } = await database.raw<{ rows: { pid: number }[] }>(
          `SELECT pid FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'VACUUM%'`,
        );
        return rows[0];
      };
      await end(importing, (await until(isWaiting, { deadlineMs: 30_000, what: 'the VACUUM to wait' })).pid);
      return await importing.ended;
    } finally {
      await other.rollback();
    }
  }

  async function cancelVacuum(_importing: StartedRun, pid: number): Promise<void> {
    await managed.database.raw('SELECT pg_cancel_backend(?)', [pid]);
  }

  const lines = Array.from({ length: refreshedLines }, (_, index) => `Material ${index}`).join('\n');

  it('with --json prints the one document also of a file that is bad, and of one that cannot be read', async () => {
    const path = join(folder.path, 'bad.csv');
    await writeFile(path, 'productName,unitCost\nWax,1\n,x\n');
    const bad = await managed.cli.run([...args(path), '--json']);
    const { error, ...report } = JSON.parse(bad.stdout) as { error: { message: string } };
    expect({ code: bad.code, stderr: bad.stderr }).to.deep.equal({ code: 1, stderr: `${error.message}\n` });
    const faults = ['unitCost: Must be a decimal number, as 12.5.', 'productName: Is required.'];
    expect(report).to.deep.include({ imported: 0, levels: 0, badCount: 1, badLines: [{ line: 3, faults }] });
    const none = await managed.cli.run([...args(join(folder.path, 'none.csv')), '--json']);
    expect(JSON.parse(none.stdout)).to.deep.equal({ error: { message: none.stderr.trim() } });
  });

  it('names the first 20 bad lines, and says how many more there are', async () => {
    const path = join(folder.path, 'bad.csv');
    await writeFile(path, `productName,sku\n${',S\n'.repeat(23)}`);
    const said = (await managed.cli.refusal(args(path))).split('\n');
    expect(said.slice(0, 3)).to.deep.equal([
      'Nothing was imported.',
      '23 lines are bad:',
      '  line 2: productName: Is required.',
    ]);
    expect(said.slice(-2)).to.deep.equal(['  line 21: productName: Is required.', '  and 3 more']);
  });

  it('says in a sentence that a folder is no file', async () => {
    const path = join(folder.path, 'folder.csv');
    await mkdir(path);
    expect(await managed.cli.refusal(args(path))).to.equal(`${path} is not a file.`);
  });

  it('is a success where only the VACUUM after its commit fails, and says so beside the one document', async () => {
    const { code, stdout, stderr } = await importWithoutRefresh(`productName\n${lines}\n`);
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.include({
      imported: refreshedLines,
      unsettled:
        'VACUUM (ANALYZE) materials, stock, levels, ledger, facets, facet_counts - canceling statement due to user request',
    });
    expect(stderr).to.match(/^All of it is in, but the statistics were not refreshed: .*due to user request\. /);
  });

  it('is a success that says so where a Ctrl-C, which npm passes on once more, comes after its commit', async () => {
    const pressCtrlC = async (importing: StartedRun, pid: number) => {
      const { child } = importing;
      child.kill('SIGINT');
      child.kill('SIGINT');
      await once(child, 'exit');
      // Postgres would notice only after the VACUUM.
      await cancelVacuum(importing, pid);
    };
    const { code, stdout, stderr } = await importWithoutRefresh(`productName\n${lines}\n`, pressCtrlC);
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.include({ imported: refreshedLines, unsettled: 'SIGINT' });
    expect(stderr).to.match(/^All of it is in, but the statistics were not refreshed: SIGINT\. /);
  });

  it('names its bad lines all the same where it is taken back and the VACUUM fails', async () => {
    const { code, stdout, stderr } = await importWithoutRefresh(`sku,productName\n${lines.replace(/^/gm, 'S,')}\nS,\n`);
    expect(code).to.equal(1);
    expect(JSON.parse(stdout)).to.include({ imported: 0, badCount: 1 });
    expect(stderr).to.match(/^What was written is taken back, and the statistics were not refreshed: /);
    expect(stderr).to.contain(`line ${refreshedLines + 2}: productName: Is required.`);
  });

  it('gives the planner statistics where it knew of fewer materials than come in, however few these are', async () => {
    const fresh = await openManagedShop();
    try {
      const known = async () => {
        const { rows } = await fresh.database.raw<{ rows: { relname: string; reltuples: number }[] }>(
          `SELECT relname, reltuples FROM pg_class WHERE relname IN ('materials', 'stock') ORDER BY relname`,
        );
        return rows.map(({ reltuples }) => reltuples);
      };
      const path = join(folder.path, 'few.csv');
      const imported = async (count: number) => {
        await writeFile(path, `productName\n${'Wax\n'.repeat(count)}`);
        await fresh.cli.answer(['materials', 'import', '--shop', fresh.shopId, path]);
        return known();
      };
      expect(await known()).to.deep.equal([-1, -1]);
      expect(await imported(3)).to.deep.equal([3, 3]);
      expect(await imported(2), 'the planner knows of as many').to.deep.equal([3, 3]);
      expect(await imported(5)).to.deep.equal([10, 10]);
    } finally {
      await fresh.close();
    }
  });

  it('leaves nothing for later searches to read one by one, however few materials come in', async () => {
    const path = join(folder.path, 'new.csv');
    await writeFile(path, `productName\n${'Wool\n'.repeat(5)}`);
    await managed.cli.answer(args(path));
    const { rows } = await managed.database.raw<{ rows: { pages: string }[] }>(
      "SELECT gin_clean_pending_list(CAST('materials_search_idx' AS regclass)) AS pages",
    );
    expect(rows).to.deep.equal([{ pages: '0' }]);
  });

  describe('while other sessions hold ids of its file', () => {
    let database: Database;
    before(async () => {
      database = connectForTest(managed.databaseUrl, { poolMax: 4 });
      // Makes the facet that all of them share: whoever made it in a transaction would hold up every other.
      await take(database, 'VMAT-0');
    });
    after(() => database.destroy());

    async function take(session: Database, id: string): Promise<void> {
      await createMaterials(session, Number(managed.shopId), [{ id, origin: 'virtual', productName: 'Taken' }]);
    }

    /** Asks Postgres something of a session of this database that waits for another. */
    async function ofWaiting(application: string, question: string): Promise<object[]> {
      const { rows } = await database.raw<{ rows: object[] }>(
        `SELECT ${question} FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = ? AND wait_event_type = 'Lock'`,
        [application],
      );
      return rows;
    }
    const untilWaiting = (application: string) =>
      until(async () => (await ofWaiting(application, 'pid')).length === 1, {
        deadlineMs: 30_000,
        what: `${application} to wait`,
      });

    /** An import that has written `VMAT-1` and waits for `VMAT-2`, which `gate` holds; after it comes `VMAT-3`. */
    async function startHeldUp(gate: Database): Promise<StartedRun> {
      const path = join(folder.path, 'held.csv');
      await writeFile(path, 'id,productName\nVMAT-1,Wax\nVMAT-2,Wax\nVMAT-3,Wax\n');
      await take(gate, 'VMAT-2');
      const importing = startManage(args(path), { DATABASE_URL: managed.databaseUrl });
      await untilWaiting('raw-materials-manage');
      return importing;
    }

    it('says that an id was taken where each waits for the other', async () => {
      const [gate, other] = [await database.transaction(), await database.transaction()];
      // The import, which comes to wait last, is to find the deadlock.
      await other.raw(`SET LOCAL deadlock_timeout = '1min'`);
      await take(other, 'VMAT-3');
      const importing = await startHeldUp(gate);
      const taking = take(other, 'VMAT-1');
      await untilWaiting('test');
      await gate.rollback();
      const { code, stdout, stderr } = await importing.ended;
      await taking;
      await other.rollback();
      const said = 'An id was taken by somebody else meanwhile; nothing was imported. Run the import again.\n';
      expect({ code, stdout, stderr }).to.deep.equal({ code: 1, stdout: '', stderr: said });
    });

    it('says that an id was taken where another import of the same file, with its stock, is first', async () => {
      const path = join(folder.path, 'twice.csv');
      await writeFile(path, 'id,productName,levels\nVMAT-twice,Wax,70001:1\n');
      const other = await database.transaction();
      const [facetId = 0] = await facetsOfVendors(database, Number(managed.shopId), [null]);
      const stock = { total: 1, levels: [{ locationId: '70001', quantity: 1 }] };
      const material = { id: 'VMAT-twice', fields: { productName: 'Wax' }, ...stock };
      await insertMaterialsWithStock(
        other,
        insertParameters(Number(managed.shopId), 'import', [{ material, facetId }]),
      );
      const importing = startManage(args(path), { DATABASE_URL: managed.databaseUrl });
      await untilWaiting('raw-materials-manage');
      await other.commit();
      const { code, stdout, stderr } = await importing.ended;
      const said = 'An id was taken by somebody else meanwhile; nothing was imported. Run the import again.\n';
      expect({ code, stdout, stderr }).to.deep.equal({ code: 1, stdout: '', stderr: said });
    });

    it('says what Postgres answered where it is cancelled, and not its statement', async () => {
      const gate = await database.transaction();
      const importing = await startHeldUp(gate);
      await ofWaiting('raw-materials-manage', 'pg_cancel_backend(pid)');
      const { code, stdout, stderr } = await importing.ended;
      await gate.rollback();
      const said = 'The database could not do it: canceling statement due to user request.\n';
      expect({ code, stdout, stderr }).to.deep.equal({ code: 69, stdout: '', stderr: said });
    });
  });

  if (process.getuid?.() !== 0) {
    it('says in a sentence that a file may not be opened', async () => {
      const path = join(folder.path, 'closed.csv');
      await writeFile(path, 'productName\nWax\n');
      await chmod(path, 0o000);
      expect(await managed.cli.refusal(args(path))).to.match(/^The file cannot be read: EACCES[^\n]*$/);
    });
  }

  // Linux has a file that root may open as well, but whose first page nobody can read.
  if (existsSync('/proc/self/mem')) {
    it('says in a sentence that a file cannot be read on', async () => {
      const path = join(folder.path, 'broken.csv');
      await symlink('/proc/self/mem', path);
      expect(await managed.cli.refusal(args(path))).to.match(
        /^Line 1 cannot be read, nor what comes after it; nothing was imported\. EIO[^\n]*$/,
      );
    });
  }
});
