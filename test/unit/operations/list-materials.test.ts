import { expect } from 'chai';
import type { Caller } from '../../../api/caller.js';
import { listMaterials } from '../../../api/operations/list-materials.js';
import type { Services } from '../../../api/services.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { succeed } from '../../../shared/domain/errors.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop } from '../../support/shop/shop.js';

const mib = 1_024 * 1_024;
const materials = 500;

describe('a page of the list', () => {
  const postgres = useDatabase();
  let shopId: number;
  before(async () => {
    ({ shopId } = await createTestShop(postgres.database, { materials: 0 }));
    // Beside the long text each has a name of one byte.
    const specifications = 'x'.repeat(Math.floor((4 * mib) / materials) - 1);
    const virtual = Array.from({ length: materials }, (_, index) => ({
      id: `VMAT-${index}`,
      origin: 'virtual' as const,
      productName: 'M',
      specifications,
    }));
    await createMaterials(postgres.database, shopId, virtual);
    await setText(specifications + 'x'.repeat((4 * mib) % materials));
  });

  const setText = (specifications: string) =>
    postgres.database('materials').where({ shop_id: shopId, id: 'VMAT-7' }).update({ specifications });
  /** How the page was asked for, and whether it was to be had. */
  async function ask(...bounds: [] | [{ textMibMax: number; vendorBytesMax: number }]) {
    const asked: string[] = [];
    const reading = (how: string) => async (shop: number, question: (database: Database) => Promise<unknown>) => {
      asked.push(`${how} ${shop}`);
      return succeed(await question(postgres.database));
    };
    const services = { reads: { ask: reading('ask'), askAlone: reading('askAlone') } } as unknown as Services;
    const caller = { shop: { id: shopId } } as unknown as Caller;
    const found = await listMaterials(services, caller, { pageSize: 1_000 }, ...bounds);
    return { asked, items: found.ok ? found.data.items.length : 0 };
  }

  it('is made beside others up to 4 MiB of text, and alone from the first byte beyond', async () => {
    expect(await ask()).to.deep.equal({ asked: [`ask ${shopId}`], items: materials });
    await setText('x'.repeat(10_000));
    expect(await ask()).to.deep.equal({ asked: [`ask ${shopId}`, `askAlone ${shopId}`], items: materials });
  });

  it('that is larger than its caller may have is refused without another look', async () => {
    const bounds = { textMibMax: 1, vendorBytesMax: 65_536 };
    expect(await ask(bounds)).to.deep.equal({ asked: [`ask ${shopId}`], items: 0 });
  });
});
