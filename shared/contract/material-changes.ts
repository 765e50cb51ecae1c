import type { FromSchema } from 'json-schema-to-ts';
import { inputMaxUnits } from '../domain/quantity.js';
import { addressCharactersMax } from './text-rules.js';

/**
 * The body of a field update: any subset of the thirteen editable fields, as JSON Merge Patch (contract §2 "Editable
 * fields"). What is not recognised is ignored (spec §PATCH /raw-materials/{variantId}, rule 2) and never copied.
 */
export const materialChangesSchema = {
  title: 'MaterialChanges',
  type: 'object',
  properties: {
    productName: { type: 'string', minLength: 1, maxLength: 255, format: 'text' },
    variantName: { type: ['string', 'null'], maxLength: 255, format: 'text' },
    sku: { type: ['string', 'null'], maxLength: 255, format: 'text', description: 'Not unique.' },
    unit: {
      type: ['string', 'null'],
      minLength: 1,
      maxLength: 16,
      format: 'text',
      description: 'Free text; pcs, kg, g, mg, lb, oz, m, cm, ft, in, yd, L, mL, m3 and m2 are usual.',
    },
    unitCost: { type: ['number', 'null'], minimum: 0, maximum: inputMaxUnits, description: 'Rounded to six places.' },
    unitPrice: { type: ['number', 'null'], minimum: 0, maximum: inputMaxUnits, description: 'Rounded to six places.' },
    inventoryQuantity: {
      type: 'number',
      minimum: 0,
      maximum: inputMaxUnits,
      description: 'The wanted sum of all levels: the default location is set to what the others leave over.',
    },
    vendor: { type: ['string', 'null'], maxLength: 255, format: 'text' },
    specifications: { type: ['string', 'null'], maxLength: 10_000, format: 'text' },
    imageUrl: {
      type: ['string', 'null'],
      maxLength: addressCharactersMax,
      format: 'http-url',
      description: 'As a browser takes it.',
    },
    isNonEssentialMaterial: { type: 'boolean' },
    weightValue: {
      type: ['number', 'null'],
      minimum: 0,
      maximum: inputMaxUnits,
      description: 'null is unknown, 0 is weightless. Rounded to six places.',
    },
    weightUnitId: { type: ['string', 'null'], minLength: 1, maxLength: 64, format: 'text' },
  },
  additionalProperties: true,
} as const;

/** A valid body; further fields may be there and mean nothing. */
export type MaterialChangesBody = FromSchema<typeof materialChangesSchema>;
