import { listPageSchema } from '../../../shared/contract/list-page.js';
import { listQuerySchema } from '../../../shared/contract/list-query.js';
import type { ListQuery } from '../../../shared/contract/list-query.js';
import { answered } from '../../operations/dispatch-answer.js';
import { listMaterials } from '../../operations/list-materials.js';
import type { ListBounds } from '../../operations/list-materials.js';
import { createTool } from '../tool.js';

const { properties } = listQuerySchema;

/**
 * Fewer than on REST. No agent has room for more in its context, and an answer carries each text twice, through several
 * copies of the library: a thousand of the longest took 8 s of CPU, and the process to 947 MiB.
 */
const pageSizeMax = 100;

/** An answer with a hundred of the longest texts had 15 MB, and 18 of them took the process to 584 MiB. */
const bounds: ListBounds = { textMibMax: 1, vendorBytesMax: 65_536 };

/** Half of what a message may hold (`messageBreadthMax`), so that a longer list is refused by its name. */
const vendorsMax = 500;

const pageSizeDescription = `Materials a page; refused where these have more than ${bounds.textMibMax} MiB of text: ask for fewer.`;

/** GET /v1/raw-materials as a tool. */
export const listRawMaterials = createTool<ListQuery>({
  name: 'list_raw_materials',
  title: 'List raw materials',
  description:
    'Finds raw materials of the shop, of the commerce platform and virtual ones alike, page by page. Use `search` to find a ' +
    'material by name, SKU or vendor, and take its `variantId` for the other tools. Each item says how much there is over ' +
    'all locations (`inventoryQuantity`) and how often it is used; for the stock of each location ask get_inventory.',
  scope: 'read',
  idempotent: true,
  input: {
    ...listQuerySchema,
    properties: {
      ...properties,
      pageSize: { ...properties.pageSize, maximum: pageSizeMax, description: pageSizeDescription },
      vendorFilter: {
        ...properties.vendorFilter,
        maxItems: vendorsMax,
        description: 'Exact vendor names: materials of any of these.',
      },
    },
    additionalProperties: false,
  },
  output: listPageSchema,
  run: async (services, caller, query) => answered(await listMaterials(services, caller, query, bounds)),
});
