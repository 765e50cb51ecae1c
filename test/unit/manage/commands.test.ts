import { expect } from 'chai';
import { findKeyWithShop } from '../../../shared/database/api-keys.js';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { findLevels } from '../../../shared/database/levels.js';
import { findMaterial } from '../../../shared/database/materials.js';
import { createShop } from '../../../shared/database/shops.js';
import type { Material } from '../../../shared/domain/material.js';
import { parseKey } from '../../../shared/keys/api-key-format.js';
import { withFailingWrites } from '../../support/database/broken-storage.js';
import { openManagedShop, startManage } from './run-manage.js';
import type { Cli } from './run-manage.js';

/** As commander begins. */
const badLevel = "error: option '--level <location=quantity>' argument";

describe('npm run manage', () => {
  let database: Database;
  let databaseUrl: string;
  let cli: Cli;
  let shopId: string;
  let close: () => Promise<void>;

  before(async () => {
    ({ database, databaseUrl, cli, shopId, close } = await openManagedShop());
  });
  after(() => close());

  describe('keys', () => {
    it('issue shows a key that works, this once, and stores its hash', async () => {
      const options = ['--shop', shopId, '--label', 'till', '--scope', 'read', '--expires', '2100-01-31'];
      const issued = await cli.answer<{ key: string; id: string }>(['keys', 'issue', ...options]);
      const parsed = parseKey(issued.key);
      const stored = await findKeyWithShop(database, issued.id);
      expect(parsed).to.deep.equal({ id: stored?.id, secretHash: stored?.secretHash });
      expect(stored).to.deep.include({
        scope: 'read',
        expiresAt: new Date('2100-01-31T00:00:00.000Z'),
        revokedAt: null,
      });
      const listed = await cli.run(['keys', 'list', '--shop', shopId, '--json']);
      expect(listed.stdout).to.contain(issued.id).and.not.contain(issued.key.slice(16, 48));
      expect(listed.stdout).to.not.contain(parsed?.secretHash.toString('hex'));
    });

    it('issue says of a key that it could not show which one it is, and fails', async () => {
      const issue = ['keys', 'issue', '--shop', shopId, '--label', 'unseen', '--scope', 'write'];
      const { child, ended } = startManage(issue, { DATABASE_URL: databaseUrl });
      child.stdout?.destroy();
      const { code, stderr } = await ended;
      const { keys } = await cli.answer<{ keys: { id: string; label: string }[] }>(['keys', 'list', '--shop', shopId]);
      const id = keys.find(({ label }) => label === 'unseen')?.id ?? 'none';
      expect({ code, stderr }).to.deep.equal({
        code: 1,
        stderr: `The key ${id} was made, and could not be shown. End it: keys revoke --shop ${shopId} ${id}\n`,
      });
    });

    it('revoke ends a key for good', async () => {
      const issue = ['keys', 'issue', '--shop', shopId, '--label', 'lost', '--scope', 'write'];
      const { id } = await cli.answer<{ id: string }>(issue);
      const { revokedAt } = await cli.answer<{ revokedAt: string }>(['keys', 'revoke', '--shop', shopId, id]);
      expect((await findKeyWithShop(database, id))?.revokedAt?.toISOString()).to.equal(revokedAt);
    });

    it('revoke of a key that the shop does not have fails, and repeats nothing that may be a whole key', async () => {
      const pasted = 'rmk_000000000000secretsecretsecretsecretsecretsecre123456';
      expect(await cli.refusal(['keys', 'revoke', '--shop', shopId, pasted]))
        .to.match(/has no key of this id\. An id is the 12 characters after rmk_\./)
        .and.not.contain(pasted);
    });

    it('list shows people each time of a key under its head', async () => {
      const { id: otherId } = await createShop(database, { name: 'Keys', plan: 'enhanced' });
      const shop = ['--shop', String(otherId)];
      const issue = ['keys', 'issue', ...shop, '--label', 'till', '--scope', 'read', '--expires', '2100-01-31'];
      const { id } = await cli.answer<{ id: string }>(issue);
      const times = "created_at = '2020-01-01Z', last_used_at = '2021-01-01Z', revoked_at = '2022-01-01Z'";
      await database.raw(`UPDATE api_keys SET ${times} WHERE id = ?`, [id]);
      const { stdout } = await cli.run(['keys', 'list', ...shop]);
      expect(
        stdout
          .trimEnd()
          .split('\n')
          .map((line) => line.split(/ {2,}/)),
      ).to.deep.equal([
        ['id', 'label', 'scope', 'created', 'last used', 'expires', 'revoked'],
        [
          id,
          'till',
          'read',
          '2020-01-01T00:00:00.000Z',
          '2021-01-01T00:00:00.000Z',
          '2100-01-31T00:00:00.000Z',
          '2022-01-01T00:00:00.000Z',
        ],
      ]);
    });

    it('issue and list refuse an unknown shop', async () => {
      const rest = ['--label', 'x', '--scope', 'read'];
      expect(await cli.refusal(['keys', 'issue', '--shop', '999', ...rest])).to.equal('There is no shop 999.');
      expect(await cli.refusal(['keys', 'list', '--shop', '999'])).to.equal('There is no shop 999.');
    });
  });

  describe('materials', () => {
    it('create books its opening stock through the ledger', async () => {
      const fields = ['--product-name', 'Wax', '--unit', 'kg', '--unit-cost', '1.2345678', '--weight-value', '0'];
      const stock = ['--level', '70001=12.5', '--level', 'b=c=0.000001', '--is-non-essential-material', 'true'];
      const material = await cli.answer<Material>(['materials', 'create', '--shop', shopId, ...fields, ...stock]);
      expect(material.id).to.match(/^VMAT-VAR-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(material).to.include({
        origin: 'virtual',
        unitCost: 1.234568,
        weightValue: 0,
        inventoryQuantity: 12.500001,
      });
      expect(material).to.include({ vendor: null, isNonEssentialMaterial: true });
      const { levels = [] } = (await findLevels(database, Number(shopId), material.id)) ?? {};
      expect(levels.map(({ locationId, quantity }) => [locationId, quantity])).to.deep.equal([
        ['70001', 12.5],
        ['b=c', 0.000001],
      ]);
      const { rows } = await database.raw<{ rows: object[] }>(
        `SELECT DISTINCT g.channel, g.reason FROM ledger g JOIN levels l ON l.id = g.level_id WHERE l.material_id = ?`,
        [material.id],
      );
      expect(rows).to.deep.equal([{ channel: 'cli', reason: 'Opening stock' }]);
    });

    it('create stores what each of its options says, and is found by its vendor', async () => {
      const { id: otherId } = await createShop(database, { name: 'Options', plan: 'enhanced' });
      const fields = {
        ...{ productName: 'Wax', variantName: 'soft', sku: 'W-1', unit: 'kg', unitCost: 1.5, unitPrice: 2.25 },
        ...{ vendor: 'Acme', specifications: 'dry', imageUrl: 'https://images.example/wax', weightValue: 3 },
        ...{ weightUnitId: 'g', isNonEssentialMaterial: true },
      };
      const options = Object.entries(fields).flatMap(([name, value]) => [
        `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
        String(value),
      ]);
      const shop = ['--shop', String(otherId)];
      const { id } = await cli.answer<Material>(['materials', 'create', ...shop, ...options]);
      expect(await findMaterial(database, otherId, id)).to.include({ id, ...fields });
      const found = await cli.answer<{ items: Material[] }>(['materials', 'list', ...shop, '--vendor', 'Acme']);
      expect(found.items.map((item) => item.id)).to.deep.equal([id]);
      expect(await cli.answer(['verify', ...shop])).to.include({ materials: 1, mismatchCount: 0 });
    });

    const wrong: [string, string[], string][] = [
      [
        'fields by the rules of the API, all faults at once',
        ['--unit-cost', '2000000000', '--image-url', 'ftp://x'],
        'error: --unit-cost: Must be at most 1000000000.\n' +
          '--image-url: Must be an http or https address without blanks.',
      ],
      [
        'a level below zero',
        ['--level', '70001=-1'],
        `${badLevel} '70001=-1' is invalid. Must be location=quantity, the quantity from 0 to 1000000000.`,
      ],
      [
        'a level over the bound',
        ['--level', '70001=1000000001'],
        `${badLevel} '70001=1000000001' is invalid. Must be location=quantity, the quantity from 0 to 1000000000.`,
      ],
      [
        'a location given twice',
        ['--level', '70001=1', '--level', '70001=2'],
        `${badLevel} '70001=2' is invalid. The location was given before.`,
      ],
      [
        'levels that add up to more than a total may be',
        Array.from({ length: 9 }, (_, index) => ['--level', `L${index}=1000000000`]).flat(),
        "error: --level: The material's total would leave its bounds of ±8000000000.",
      ],
    ];
    const refused = ['materials', 'create', '--product-name', 'refused'];
    for (const [name, options, wanted] of wrong) {
      it(`create refuses ${name}`, async () => {
        const misuse = await cli.misuse([...refused, '--shop', shopId, ...options]);
        expect(misuse).to.equal(`${wanted}\n(--help tells more)`);
      });
    }

    for (const [name, options, wanted] of [
      [
        'a location that the shop does not have',
        ['--level', '5=1'],
        '--level: the shop has no location 5. Add it first: locations add.',
      ],
      ['a shop that does not exist', ['--shop', '999'], 'There is no shop 999.'],
    ] as const) {
      it(`create refuses ${name}, and adds nothing`, async () => {
        expect(await cli.refusal([...refused, '--shop', shopId, ...options])).to.equal(wanted);
        const found = await cli.answer(['materials', 'list', '--shop', shopId, '--search', 'refused']);
        expect(found).to.have.property('totalCount', 0);
      });
    }

    it('create that fails within its stock leaves no material without it', async () => {
      const created = ['materials', 'create', '--shop', shopId, '--product-name', 'halved', '--level', '70001=1'];
      const shop = { table: 'ledger', shopId: Number(shopId), sqlState: '53100' } as const;
      const { code, stderr } = await withFailingWrites(database, shop, () => cli.run(created));
      expect(code, 'a full disk passes').to.equal(69);
      expect(stderr).to.match(/^The database could not do it: /);
      const found = await cli.answer(['materials', 'list', '--shop', shopId, '--search', 'halved']);
      expect(found).to.have.property('totalCount', 0);
    });

    it('create that cannot show its material has not added it either', async () => {
      const lasting = new URL(databaseUrl);
      lasting.searchParams.set('options', '-c statement_timeout=1s');
      const create = ['materials', 'create', '--shop', shopId, '--product-name', 'unread', '--level', '70001=1'];
      // To add a material does not touch this table; to show it does.
      const other = await database.transaction();
      await other.raw('LOCK TABLE bills IN ACCESS EXCLUSIVE MODE');
      const { code, stdout } = await cli.run(create, { DATABASE_URL: lasting.href });
      await other.rollback();
      expect({ code, stdout }).to.deep.equal({ code: 69, stdout: '' });
      const found = await cli.answer(['materials', 'list', '--shop', shopId, '--search', 'unread']);
      expect(found).to.have.property('totalCount', 0);
    });

    it('list filters, sorts and pages as the API does', async () => {
      const list = (...options: string[]) =>
        cli.answer<{ items: Material[]; totalCount: number; totalPages: number }>([
          'materials',
          'list',
          '--shop',
          shopId,
          ...options,
        ]);
      const vendors = ['x', 'y', 'z'];
      const add = vendors.map((vendor) => ({
        id: `VMAT-l${vendor}`,
        origin: 'virtual' as const,
        productName: `list ${vendor}`,
        vendor,
      }));
      await createMaterials(database, Number(shopId), add);
      const options = ['--vendor', 'x', '--vendor', 'z', '--sort-by', 'vendor', '--sort-order', 'desc'];
      const page = await list(
        ...options,
        '--page-size',
        '1',
        '--page',
        '2',
        '--origin',
        'virtual',
        '--usage',
        'unused',
      );
      expect(page.items.map(({ id }) => id)).to.deep.equal(['VMAT-lx']);
      expect(page).to.include({ totalCount: 2, totalPages: 2, page: 2, pageSize: 1 });
      const all = ['--vendor', 'x', '--vendor', 'y', '--vendor', 'z', '--search'];
      expect(await list(...all, ''), 'an empty search is none').to.include({ totalCount: 3 });
      expect(await list(...all, ' '), 'a blank is in all of these names').to.include({ totalCount: 3 });
      expect(await list(...all, 'x'.repeat(2_000)), 'longer than any text').to.include({ totalCount: 0 });
    });
  });

  it('list by use, and by origin, has only what is of it', async () => {
    const { id: otherId } = await createShop(database, { name: 'Filters', plan: 'enhanced' });
    await createMaterials(database, otherId, [
      { id: 'VMAT-used', origin: 'virtual', productName: 'a' },
      { id: 'VMAT-free', origin: 'virtual', productName: 'b' },
      { id: '7', origin: 'platform', productName: 'c' },
    ]);
    const components = [{ materialId: 'VMAT-used', quantity: 1_000_000 }];
    await createBill(database, otherId, { id: 'b', kind: 'bill_of_materials', name: 'b', components });
    const listed = async (...options: string[]) => {
      const list = ['materials', 'list', '--shop', String(otherId), ...options];
      return (await cli.answer<{ items: Material[] }>(list)).items.map(({ id }) => id);
    };
    expect(await listed('--usage', 'used')).to.deep.equal(['VMAT-used']);
    expect(await listed('--usage', 'unused')).to.deep.equal(['VMAT-free', '7']);
    expect(await listed('--origin', 'virtual')).to.deep.equal(['VMAT-used', 'VMAT-free']);
    expect(await listed('--origin', 'platform')).to.deep.equal(['7']);
  });

  it('list says for people which page of how many it is, and of a page that is not there so', async () => {
    await createMaterials(
      database,
      Number(shopId),
      ['a', 'b', 'c'].map((id) => ({ id: `VMAT-p${id}`, origin: 'virtual', productName: id, vendor: 'paged' })),
    );
    const lastLine = async (...options: string[]) => {
      const list = ['materials', 'list', '--shop', shopId, '--page-size', '2', ...options];
      return (await cli.run(list)).stdout.trimEnd().split('\n').at(-1);
    };
    expect(await lastLine('--vendor', 'paged', '--page', '2')).to.equal('Page 2 of 2, 3 in all.');
    expect(await lastLine('--vendor', 'paged', '--page', '9')).to.equal('There is no page 9: the last is 2, 3 in all.');
    expect(await lastLine('--vendor', 'nobody')).to.equal('There are none.');
  });
});
