import type {
  PlatformLocation,
  PlatformPage,
  PlatformResult,
  PlatformShop,
  PlatformVariant,
} from '../commerce-platform.js';
import { locationGidPrefix, variantGidPrefix } from './global-ids.js';
import { isLocationsData, locationsPerPage, locationsQuery } from './locations-query.js';
import { nextCursor } from './page-info.js';
import type { PageInfo } from './page-info.js';
import type { createShopifyClient } from './shopify-client.js';
import { isVariantsData, variantsPerPage, variantsQuery } from './variants-query.js';
import type { ListVariables, MediaNode, VariantNode } from './variants-query.js';

type Client = ReturnType<typeof createShopifyClient>;

/** One page of a shop's locations (`CommercePlatform.listLocations`). */
export async function listLocations(
  client: Client,
  shop: PlatformShop,
  after: string | null,
  signal: AbortSignal | undefined,
): Promise<PlatformResult<PlatformPage<PlatformLocation>>> {
  return readPage(client, shop, after, signal, {
    document: locationsQuery,
    first: locationsPerPage,
    isData: isLocationsData,
    connectionOf: ({ locations }) => locations,
    toItem: ({ id, name }) => ({ id: id.slice(locationGidPrefix.length), name }),
  });
}

/** One page of a shop's variants (`CommercePlatform.listVariants`). */
export async function listVariants(
  client: Client,
  shop: PlatformShop,
  after: string | null,
  signal: AbortSignal | undefined,
): Promise<PlatformResult<PlatformPage<PlatformVariant>>> {
  return readPage(client, shop, after, signal, {
    document: variantsQuery,
    first: variantsPerPage,
    isData: isVariantsData,
    connectionOf: ({ productVariants }) => productVariants,
    toItem: toVariant,
  });
}

interface List<Data, Node, Item> {
  document: string;
  first: number;
  isData: (data: unknown) => data is Data;
  connectionOf: (data: Data) => { nodes: Node[]; pageInfo: PageInfo };
  toItem: (node: Node) => Item;
}

async function readPage<Data, Node, Item>(
  client: Client,
  shop: PlatformShop,
  after: string | null,
  signal: AbortSignal | undefined,
  { document, first, isData, connectionOf, toItem }: List<Data, Node, Item>,
): Promise<PlatformResult<PlatformPage<Item>>> {
  const call = client.begin(shop, { use: 'background', signal });
  if (call === undefined) return { ok: false, error: 'not-callable' };
  const variables: ListVariables = { first, after };
  const answer = await call.query({ document, variables, isData });
  if (!answer.ok) return answer;
  const { nodes, pageInfo } = connectionOf(answer.data);
  const end = nextCursor(pageInfo, { after, size: nodes.length });
  if (!end.ok) return call.distrust(end.detail);
  return { ok: true, data: { items: nodes.map(toItem), next: end.next } };
}

/** What Shopify calls the only variant of a product without options (https://shopify.dev/docs/api/admin-graphql). */
const onlyVariantTitle = 'Default Title';

function toVariant(node: VariantNode): PlatformVariant {
  const { product, inventoryItem, media } = node;
  return {
    id: node.id.slice(variantGidPrefix.length),
    productTitle: product.title,
    title: node.title === onlyVariantTitle ? null : node.title,
    sku: node.sku,
    vendor: product.vendor,
    price: node.price,
    unitCost: inventoryItem.unitCost?.amount ?? null,
    imageUrl: imageOf(media.nodes[0]) ?? imageOf(product.featuredMedia) ?? null,
    inventoryQuantity: node.inventoryQuantity ?? 0,
  };
}

function imageOf(media: MediaNode | null | undefined): string | undefined {
  return media?.preview?.image?.url;
}
