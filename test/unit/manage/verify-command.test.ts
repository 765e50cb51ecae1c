import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import type { Material } from '../../../shared/domain/material.js';
import { openManagedShop } from './run-manage.js';
import type { Cli } from './run-manage.js';

describe('npm run manage -- verify', () => {
  let database: Database;
  let cli: Cli;
  let shopId: string;
  let close: () => Promise<void>;

  before(async () => {
    ({ database, cli, shopId, close } = await openManagedShop());
    await create();
  });
  after(() => close());

  const create = () =>
    cli.answer<Material>(['materials', 'create', '--shop', shopId, '--product-name', 'v', '--level', '70001=1']);

  it('is clean, and ends with 0, while ledger, levels and totals agree', async () => {
    const check = await cli.answer<{ entries: number }>(['verify', '--shop', shopId]);
    expect(check).to.include({ mismatchCount: 0 });
    expect(check.entries).to.be.greaterThan(0);
  });

  it('lists what differs and ends with 1', async () => {
    const { id } = await create();
    await database.raw('UPDATE stock SET total_quantity = 2 WHERE material_id = ?', [id]);
    try {
      const { code, stdout } = await cli.run(['verify', '--json']);
      const mismatch = {
        kind: 'total-not-sum',
        shopId: Number(shopId),
        materialId: id,
        locationId: null,
        levelId: null,
      };
      expect(code).to.equal(1);
      expect(JSON.parse(stdout)).to.deep.include({
        mismatches: [{ ...mismatch, expected: '1.000000', found: '2.000000' }],
      });
      const { stdout: text } = await cli.run(['verify']);
      expect(text).to.contain("the material's total is not the sum of its levels").and.contain(id);
      expect(text).to.contain(' checked, and what lists go by. 1 difference.\n');
      expect(text, 'in the columns of its table').to.match(/^shop .* expected +found\n.* 1\.000000 +2\.000000$/m);
    } finally {
      await database.raw('UPDATE stock SET total_quantity = 1 WHERE material_id = ?', [id]);
    }
  });

  it('of a shop that does not exist fails, and does not pass for clean', async () => {
    expect(await cli.refusal(['verify', '--shop', '999'])).to.equal('There is no shop 999.');
  });

  it('of one shop is clean while ledger and lists of another one are wrong', async () => {
    const { id: whole } = await cli.answer<{ id: number }>(['shops', 'create', '--name', 'Whole']);
    const { id } = await create();
    await database.raw('UPDATE stock SET total_quantity = 2 WHERE material_id = ?', [id]);
    // Its counters are a sum of rows: one more row counts materials that are not there.
    const counted = 'INSERT INTO facet_counts (facet_id, materials) SELECT id, 7 FROM facets WHERE shop_id = ?';
    await database.raw(counted, [Number(shopId)]);
    const { code, stdout } = await cli.run(['verify', '--shop', shopId, '--json']);
    const { mismatches } = JSON.parse(stdout) as { mismatches: { kind: string }[] };
    expect(code).to.equal(1);
    expect(mismatches.map(({ kind }) => kind)).to.deep.equal(['total-not-sum', 'wrong-count']);
    expect(await cli.answer(['verify', '--shop', String(whole)])).to.include({ mismatchCount: 0 });
  });
});
