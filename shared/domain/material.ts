import type { Micros } from './quantity.js';

export type Origin = 'platform' | 'virtual';

/** The thirteen editable fields as a client sees them (spec §Raw material); quantities and money in units. */
export interface EditableFields {
  productName: string;
  variantName: string | null;
  sku: string | null;
  unit: string | null;
  unitCost: number | null;
  unitPrice: number | null;
  inventoryQuantity: number;
  vendor: string | null;
  specifications: string | null;
  imageUrl: string | null;
  isNonEssentialMaterial: boolean;
  weightValue: number | null;
  weightUnitId: string | null;
}

/** A raw material as every response shows it (contract §2 "Material"); times are ISO 8601 in UTC. */
export interface Material extends EditableFields {
  id: string;
  variantId: string;
  origin: Origin;
  usage: { billOfMaterials: number; subAssemblies: number };
  createdAt: string;
  updatedAt: string;
}

/** A material and the version of its fields: from 1, one more for each change; stock does not move it (contract §7). */
export interface VersionedMaterial {
  material: Material;
  version: number;
}

/**
 * The validated fields of a field update: only what was sent (spec §PATCH /raw-materials/{variantId}, rule 1). Money
 * and weight are already rounded to six places; `inventoryQuantity` is in millionths, since it becomes an adjustment.
 */
export type MaterialChanges = Partial<Omit<EditableFields, 'inventoryQuantity'>> & { inventoryQuantity?: Micros };

/** The validated fields of a material to be added, where absent ones are null. Its stock is none of them. */
export type NewMaterialFields = Omit<MaterialChanges, 'inventoryQuantity' | 'productName'> & { productName: string };
