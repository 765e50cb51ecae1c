import { expect } from 'chai';
import { useDatabase } from '../../support/database/database.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, expectLocations, readMirror } from './fixtures.js';

const media = (url: string) => ({ nodes: [{ preview: { image: { url } } }] });
const product = { title: 'Product', vendor: 'Vendor', featuredMedia: null };
const asBefore = { product, media: media('https://cdn.example/before.png') };

/** What alone changes of a variant, the column that has it, and what that then holds. */
const changes: [change: Record<string, unknown>, column: string, after: string | null][] = [
  [{ product: { ...product, title: 'Renamed' } }, 'product_name', 'Renamed'],
  [{ product: { ...product, vendor: 'Else' } }, 'vendor', 'Else'],
  [{ title: 'Renamed' }, 'variant_name', 'Renamed'],
  [{ title: 'Default Title' }, 'variant_name', null],
  [{ sku: 'OTHER' }, 'sku', 'OTHER'],
  [{ sku: null }, 'sku', null],
  [{ price: '13' }, 'unit_price', '13.000000'],
  [{ inventoryItem: { unitCost: { amount: '5' } } }, 'unit_cost', '5.000000'],
  [{ inventoryItem: { unitCost: null } }, 'unit_cost', null],
  [{ media: media('https://cdn.example/after.png') }, 'image_url', 'https://cdn.example/after.png'],
  [{ media: { nodes: [] } }, 'image_url', null],
];

const shownColumns = ['id', 'version', 'total_quantity', ...changes.map(([, column]) => column)];

describe('a variant of which the platform changes one thing', () => {
  shutNetwork();
  const postgres = useDatabase();

  it('comes in with that, whichever it is, in its next version, and with all else as it was', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    const bringIn = async (changeOf: (place: number) => Record<string, unknown>) => {
      expectLocations();
      const nodes = changes.map((_, place) => variantNode(1001 + place, { ...asBefore, ...changeOf(place) }));
      onVariants(null).reply(200, variantsReply(nodes));
      const outcome = await run(shop);
      const { materials } = await readMirror(postgres.database, shop.id);
      const shown = materials.map((material) => Object.fromEntries(shownColumns.map((name) => [name, material[name]])));
      return { counted: outcome.status === 'complete' && outcome.sync.variants, shown };
    };
    const before = await bringIn(() => ({}));
    const after = await bringIn((place) => changes[place]?.[0] ?? {});
    expect(after.counted).to.deep.equal({ seen: changes.length, added: 0, changed: changes.length });
    expect(after.shown).to.deep.equal(
      before.shown.map((material, place) => {
        const [, column = '', value] = changes[place] ?? [];
        return { ...material, [column]: value, version: 2 };
      }),
    );
  });
});
