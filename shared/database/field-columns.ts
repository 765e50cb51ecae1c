import type { NewMaterialFields } from '../domain/material.js';
import { toMicros } from '../domain/quantity.js';
import type { ArrayColumn } from './array-columns.js';
import { booleans, decimals, texts } from './array-literals.js';

type FieldColumn = ArrayColumn<NewMaterialFields>;
type FieldOf<Value> = (fields: NewMaterialFields) => Value | null | undefined;

/**
 * The editable fields of a material (contract §2) without its stock, as columns of `materials`, for what writes all of
 * them; `material-rows.ts` reads them. One that is missing here does not compile.
 */
const columnOf: Record<keyof NewMaterialFields, FieldColumn> = {
  productName: textColumn('product_name', ({ productName }) => productName),
  variantName: textColumn('variant_name', ({ variantName }) => variantName),
  sku: textColumn('sku', ({ sku }) => sku),
  unit: textColumn('unit', ({ unit }) => unit),
  unitCost: numericColumn('unit_cost', ({ unitCost }) => unitCost),
  unitPrice: numericColumn('unit_price', ({ unitPrice }) => unitPrice),
  vendor: textColumn('vendor', ({ vendor }) => vendor),
  specifications: textColumn('specifications', ({ specifications }) => specifications),
  imageUrl: textColumn('image_url', ({ imageUrl }) => imageUrl),
  isNonEssentialMaterial: {
    name: 'is_non_essential',
    type: 'boolean',
    toArray: (rows) => booleans(rows, ({ isNonEssentialMaterial }) => isNonEssentialMaterial ?? false),
  },
  weightValue: numericColumn('weight_value', ({ weightValue }) => weightValue),
  weightUnitId: textColumn('weight_unit_id', ({ weightUnitId }) => weightUnitId),
};

export const fieldColumns: readonly FieldColumn[] = Object.values(columnOf);

function textColumn(name: string, fieldOf: FieldOf<string>): FieldColumn {
  return { name, type: 'text', toArray: (rows) => texts(rows, (fields) => fieldOf(fields) ?? null) };
}

function numericColumn(name: string, fieldOf: FieldOf<number>): FieldColumn {
  const microsOf = (fields: NewMaterialFields) => {
    const units = fieldOf(fields) ?? null;
    return units === null ? null : toMicros(units);
  };
  return { name, type: 'numeric', toArray: (rows) => decimals(rows, microsOf) };
}
