import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import { createShop } from '../../../shared/database/shops.js';
import { useDatabase } from '../../support/database/database.js';
import { connectPlatform, platformTokenKey, startScriptedPlatform } from '../../support/shop/platform.js';
import { slowClock } from '../../support/time/slow-clock.js';
import { manyVariants, startGatedPlatform } from '../mirror/gated-platform.js';
import type { GatedPlatform } from '../mirror/gated-platform.js';
import { locationsReply, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createCli } from './run-manage.js';
import type { Run } from './run-manage.js';

describe('what npm run manage -- platform sync tells people', () => {
  const postgres = useDatabase();
  let all: GatedPlatform;
  /** The same catalogue later: two are left of five, and one of these was renamed. */
  let fewer: GatedPlatform;
  /** It again, to a token that may see no variants. */
  let blind: GatedPlatform;
  let shopId: number;

  before(async () => {
    all = await startGatedPlatform(manyVariants(5));
    const left = manyVariants(2).map((variant, index) => (index === 0 ? { ...variant, title: 'Renamed' } : variant));
    fewer = await startGatedPlatform(left);
    blind = await startGatedPlatform([]);
  });
  after(async () => {
    await all.stop();
    await fewer.stop();
    await blind.stop();
  });
  beforeEach(async () => {
    shopId = (await createShop(postgres.database, { name: 'CLI', plan: 'enhanced' })).id;
    await connectPlatform(postgres.database, shopId, all.url);
  });

  async function runSync(...more: string[]): Promise<Run> {
    const env = { PLATFORM_TOKEN_KEY: platformTokenKey, PLATFORM_ALLOW_LOOPBACK: 'true' };
    const cli = createCli({ DATABASE_URL: postgres.url, ...env });
    return cli.run(['platform', 'sync', '--shop', String(shopId), ...more]);
  }
  async function sync(...more: string[]): Promise<string> {
    const { code, stdout } = await runSync(...more);
    expect(code).to.equal(0);
    return stdout;
  }
  /** A platform that gives these replies, one after the other. */
  const scripted = (replies: object[], onReply: () => void = () => undefined) =>
    startScriptedPlatform((_request, response) => {
      onReply();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(replies.shift()));
    });

  /** Its lines, each as its cells. */
  async function syncInText(...more: string[]): Promise<string[][]> {
    const lines = (await sync(...more)).trimEnd().split('\n');
    return lines.map((line) => line.trim().split(/ {2,}/));
  }

  it('is how many were listed, added and changed', async () => {
    const head = ['listed', 'added', 'changed'];
    const done = [`Shop ${shopId}: complete`];
    expect(await syncInText()).to.deep.equal([done, head, ['locations', '3', '3', '0'], ['variants', '5', '5', '0']]);
    await connectPlatform(postgres.database, shopId, fewer.url);
    const [, , ...counts] = await syncInText();
    expect(counts.slice(0, 2)).to.deep.equal([
      ['locations', '3', '0', '0'],
      ['variants', '2', '0', '1'],
    ]);
  });

  it('is what is gone and kept, and, where that was asked for, how much of it was removed', async () => {
    await syncInText();
    const components = [{ materialId: '100004', quantity: 1_000_000 }];
    await createBill(postgres.database, shopId, { id: 'b', kind: 'bill_of_materials', name: 'b', components });
    await connectPlatform(postgres.database, shopId, fewer.url);
    const head = ['what', 'id', 'name', 'since', 'used'];
    const gone = (await syncInText()).slice(4);
    expect(gone.map(withoutTime)).to.deep.equal([
      ['Gone from the platform, and kept: 3'],
      head,
      ['variant', '100003', 'Product 3', 'then', 'no'],
      ['variant', '100004', 'Product 4', 'then', 'yes'],
      ['variant', '100005', 'Product 5', 'then', 'no'],
    ]);
    const removed = (await syncInText('--remove-gone')).slice(4);
    expect(removed.map(withoutTime)).to.deep.equal([
      ['Gone from the platform, and removed: 2'],
      ['Gone from the platform, and kept: 1'],
      head,
      ['variant', '100004', 'Product 4', 'then', 'yes'],
    ]);
  });

  it('is why --remove-gone removed nothing where no variant was listed, also in the document', async () => {
    await syncInText();
    await connectPlatform(postgres.database, shopId, blind.url);
    const why =
      'Nothing was removed: the platform listed no variant at all, so the token may lack the right to see them.';
    expect((await syncInText()).flat(), 'where it was not asked for').to.not.include(why);
    expect((await syncInText('--remove-gone'))[4]).to.deep.equal([why]);
    type Document = { shops: { removalWithheld: string | null; removedCount: number; goneCount: number }[] };
    const told = async (...more: string[]) => (JSON.parse(await sync('--json', ...more)) as Document).shops[0];
    expect(await told('--remove-gone')).to.include({ removalWithheld: why, removedCount: 0, goneCount: 5 });
    expect(await told(), 'where it was not asked for').to.include({ removalWithheld: null });
    await connectPlatform(postgres.database, shopId, fewer.url);
    expect(await told('--remove-gone')).to.include({ removalWithheld: null, removedCount: 3 });
  });

  it('is why --remove-gone removed nothing where the last page was empty', async () => {
    const why =
      'Nothing was removed: the last page was empty, as if the token had lost the right to see variants. Run it again.';
    await syncInText();
    const pages = [locationsReply([]), variantsReply([variantNode(100_001)], 'v1'), variantsReply([])];
    const blinded = await scripted(pages);
    try {
      await connectPlatform(postgres.database, shopId, blinded.url);
      expect((await syncInText('--remove-gone'))[4]).to.deep.equal([why]);
    } finally {
      await blinded.stop();
    }
  });

  it('is which values could not be taken as they are', async () => {
    const odd = await scripted([locationsReply([]), variantsReply([variantNode(1, { price: '-1' }), variantNode(2)])]);
    try {
      await connectPlatform(postgres.database, shopId, odd.url);
      expect((await syncInText()).slice(4)).to.deep.equal([
        ['Values that could not be taken as they are: 1'],
        ['what', 'id', 'field', 'remark'],
        ['variant', '1', 'unitPrice', 'left out: not a decimal number from 0 to 1000000000'],
      ]);
    } finally {
      await odd.stop();
    }
  });

  it('is how far it is, where that takes longer than a second', async () => {
    const clock = slowClock(1_000);
    const pages = [locationsReply([]), variantsReply([variantNode(1)], 'v1'), variantsReply([variantNode(2)])];
    const slow = await scripted(pages, () => clock.advance(1_000));
    try {
      await connectPlatform(postgres.database, shopId, slow.url);
      const { stderr } = await runSync();
      expect(stderr).to.equal(
        [
          `Shop ${shopId}: 0 locations, 0 variants, 1 pages`,
          `Shop ${shopId}: 0 locations, 1 variants, 2 pages`,
          `Shop ${shopId}: 0 locations, 2 variants, 3 pages`,
          '',
        ].join('\n'),
      );
    } finally {
      clock.restore();
      await slow.stop();
    }
  });
});

function withoutTime(cells: string[]): string[] {
  return cells.map((cell) => (/^\d{4}-\d\d-\d\dT\S+Z$/.test(cell) ? 'then' : cell));
}
