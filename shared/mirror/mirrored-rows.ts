import { materialChangesSchema } from '../contract/material-changes.js';
import { isHttpUrl, mendText } from '../contract/text-rules.js';
import type { NewLocation } from '../database/locations.js';
import type { MirroredVariant } from '../database/platform-mirror.js';
import { inputMaxUnits, toDecimal, toMicros } from '../domain/quantity.js';
import type { PlatformLocation, PlatformVariant } from '../platform/commerce-platform.js';

/** Says where a row differs from what the platform wrote, which the tables could not hold. Does not quote it. */
export interface Remark {
  kind: 'location' | 'variant';
  id: string;
  field: string;
  what: string;
}

export interface Cleaned<Row> {
  rows: Row[];
  remarks: Remark[];
}

/**
 * A page of locations as the tables can hold them: each once (the last one counts), texts that are too long cut,
 * characters that Postgres cannot store replaced, and a stand-in for a missing name. Each such change has a remark. So
 * one odd row does not keep the others of its page out.
 */
export function cleanLocations(locations: readonly PlatformLocation[]): Cleaned<NewLocation> {
  return clean('location', locations, ({ id, name }, cleaner) => ({
    id,
    name: cleaner.text('name', name) ?? cleaner.standIn('name', `Location ${id}`),
  }));
}

/** The same for a page of variants. A price or image address that is not valid is left out, with a remark. */
export function cleanVariants(variants: readonly PlatformVariant[]): Cleaned<MirroredVariant> {
  return clean('variant', variants, (variant, cleaner) => ({
    id: variant.id,
    productName:
      cleaner.text('productName', variant.productTitle) ?? cleaner.standIn('productName', `Product of ${variant.id}`),
    variantName: cleaner.text('variantName', variant.title),
    sku: cleaner.text('sku', variant.sku),
    vendor: cleaner.text('vendor', variant.vendor),
    unitPrice: cleaner.money('unitPrice', variant.price),
    unitCost: cleaner.money('unitCost', variant.unitCost),
    imageUrl: cleaner.imageUrl('imageUrl', variant.imageUrl),
    inventoryQuantity: variant.inventoryQuantity,
  }));
}

/** The same for product name, variant name, sku, vendor and a location's name (contract §2 "Editable fields"). */
const { maxLength: textCharactersMax } = materialChangesSchema.properties.productName;
const { maxLength: imageUrlCharactersMax } = materialChangesSchema.properties.imageUrl;

interface Cleaner {
  /** Null for an empty text. */
  text(field: string, text: string | null): string | null;
  standIn(field: string, text: string): string;
  /** A decimal with six places at most, as text. */
  money(field: string, text: string | null): string | null;
  imageUrl(field: string, text: string | null): string | null;
}

function clean<Given extends { id: string }, Row>(
  kind: Remark['kind'],
  given: readonly Given[],
  toRow: (item: Given, cleaner: Cleaner) => Row,
): Cleaned<Row> {
  const remarks: Remark[] = [];
  const byId = new Map(given.map((item) => [item.id, item]));
  const rows = [...byId.values()].map((item) => toRow(item, createCleaner(kind, item.id, remarks)));
  return { rows, remarks };
}

function createCleaner(kind: Remark['kind'], id: string, remarks: Remark[]): Cleaner {
  const remark = (field: string, what: string) => remarks.push({ kind, id, field, what });
  return {
    text(field, text) {
      if (text === null || text === '') return null;
      const mended = mendText(text);
      if (mended !== text) remark(field, 'characters that cannot be stored were replaced');
      const characters = Array.from(mended);
      if (characters.length <= textCharactersMax) return mended;
      remark(field, `cut to ${textCharactersMax} characters`);
      return characters.slice(0, textCharactersMax).join('');
    },
    standIn(field, text) {
      remark(field, 'empty, so it has a stand-in');
      return text;
    },
    money(field, text) {
      if (text === null) return null;
      const value = /^\d{1,12}(\.\d{1,12})?$/.test(text) ? Number(text) : NaN;
      if (value <= inputMaxUnits) return toDecimal(toMicros(value));
      remark(field, `left out: not a decimal number from 0 to ${inputMaxUnits}`);
      return null;
    },
    imageUrl(field, text) {
      if (text === null) return null;
      if (Array.from(text).length <= imageUrlCharactersMax && isHttpUrl(text)) return text;
      remark(field, `left out: not an http address of up to ${imageUrlCharactersMax} characters`);
      return null;
    },
  };
}
