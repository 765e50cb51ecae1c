import type { FromSchema } from 'json-schema-to-ts';
import { wholeObject } from './whole-object.js';

const count = { type: 'integer', minimum: 0 } as const;
const dateTime = { type: 'string', format: 'date-time' } as const;

const properties = {
  id: { type: 'string' },
  variantId: { type: 'string', description: 'The same value as `id`.' },
  origin: { type: 'string', enum: ['platform', 'virtual'] },
  productName: { type: 'string' },
  variantName: { type: ['string', 'null'] },
  sku: { type: ['string', 'null'] },
  unit: { type: ['string', 'null'] },
  unitCost: { type: ['number', 'null'] },
  unitPrice: { type: ['number', 'null'] },
  inventoryQuantity: {
    type: 'number',
    description: 'The sum of the levels of a virtual material; the mirrored figure of a platform material.',
  },
  vendor: { type: ['string', 'null'] },
  specifications: { type: ['string', 'null'] },
  imageUrl: { type: ['string', 'null'] },
  isNonEssentialMaterial: { type: 'boolean' },
  weightValue: { type: ['number', 'null'] },
  weightUnitId: { type: ['string', 'null'] },
  usage: {
    description: 'How many bills of materials and sub-assemblies use it.',
    ...wholeObject({ billOfMaterials: count, subAssemblies: count }),
  },
  createdAt: dateTime,
  updatedAt: {
    ...dateTime,
    description:
      'When its fields or its stock last changed; `usage` does not count. A change may show up to some seconds after ' +
      'this time, and imported materials show at the end of their import, with the time of its start.',
  },
} as const;

/** A raw material: an item of the list, the single read, and `data` of a field update (contract §2 "Material"). */
export const materialSchema = {
  title: 'Material',
  ...wholeObject(properties),
} as const;

const connection = {
  type: 'array',
  items: wholeObject({
    id: { type: 'string' },
    name: { type: 'string' },
    quantity: { type: 'number', description: 'How much of the material one of it takes.' },
  }),
} as const;

/** The single read with `?includeConnections=true` (contract §1). */
export const connectedMaterialSchema = {
  title: 'MaterialWithConnections',
  ...wholeObject({
    ...properties,
    connections: wholeObject({ billOfMaterials: connection, subAssemblies: connection }),
  }),
} as const;

export type MaterialBody = FromSchema<typeof materialSchema>;
export type ConnectedMaterialBody = FromSchema<typeof connectedMaterialSchema>;
