import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
import { batchResultSchema } from '../../../shared/contract/batch-result.js';
import type { BatchResultBody } from '../../../shared/contract/batch-result.js';
import { errorSchema, successSchema } from '../../../shared/contract/envelope.js';
import { inventoryBatchSchema } from '../../../shared/contract/inventory-batch.js';
import { inventoryLevelsSchema } from '../../../shared/contract/inventory-levels.js';
import { listPageSchema } from '../../../shared/contract/list-page.js';
import { connectedMaterialSchema, materialSchema } from '../../../shared/contract/material.js';
import type { MaterialBody } from '../../../shared/contract/material.js';
import { materialChangesSchema } from '../../../shared/contract/material-changes.js';
import type { BatchResult } from '../../../shared/domain/batch-result.js';
import { batchResult } from '../../../shared/domain/batch-result.js';
import type { EditableFields, Material } from '../../../shared/domain/material.js';

const meta = { requestId: '0197f9a5-0000-7000-8000-000000000000', apiVersion: '1.0' };

const material: Material & MaterialBody = {
  id: 'VMAT-VAR-1',
  variantId: 'VMAT-VAR-1',
  origin: 'virtual',
  productName: 'Flour',
  variantName: null,
  sku: null,
  unit: 'kg',
  unitCost: 1.5,
  unitPrice: null,
  inventoryQuantity: 12,
  vendor: null,
  specifications: null,
  imageUrl: null,
  isNonEssentialMaterial: false,
  weightValue: 0,
  weightUnitId: null,
  usage: { billOfMaterials: 1, subAssemblies: 0 },
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

describe('the schemas of the responses', () => {
  it('all compile in strict mode', () => {
    const page = { ...listPageSchema };
    for (const schema of [inventoryBatchSchema, inventoryLevelsSchema, connectedMaterialSchema, page, errorSchema]) {
      expect(() => ajv.compile(successSchema(schema))).to.not.throw();
    }
  });

  it('take a material as the domain has it, and none with a field more or less', () => {
    const isMaterial = ajv.compile(successSchema(materialSchema));
    const { sku: _sku, ...without } = material;
    expect(isMaterial({ data: material, meta })).to.equal(true);
    expect(isMaterial({ data: { ...material, version: 1 }, meta })).to.equal(false);
    expect(isMaterial({ data: without, meta })).to.equal(false);
  });

  it('take a batch result as the domain makes it', () => {
    const made = batchResult('VMAT-1', 2, [{ index: 1, code: 'NOT_FOUND', message: 'No.' }]);
    const data: (BatchResult & BatchResultBody) | undefined = made.ok ? made.data : undefined;
    expect(ajv.validate(batchResultSchema, data)).to.equal(true);
    expect(
      ajv.validate(batchResultSchema, { ...data, results: [{ index: 0, ok: true, id: 'x', error: null }] }),
    ).to.equal(false);
  });

  it('take an error without details, and never empty ones', () => {
    const isError = ajv.compile(errorSchema);
    expect(isError({ error: { code: 'NOT_FOUND', message: 'No.' }, meta })).to.equal(true);
    expect(isError({ error: { code: 'NOT_FOUND', message: 'No.', details: [] }, meta })).to.equal(false);
    expect(isError({ error: { code: 'OOPS', message: 'No.' }, meta })).to.equal(false);
  });

  it('and the request schema of a field update name the thirteen editable fields of the specification', () => {
    const fields: Record<keyof EditableFields, true> = {
      productName: true,
      variantName: true,
      sku: true,
      unit: true,
      unitCost: true,
      unitPrice: true,
      inventoryQuantity: true,
      vendor: true,
      specifications: true,
      imageUrl: true,
      isNonEssentialMaterial: true,
      weightValue: true,
      weightUnitId: true,
    };
    expect(materialChangesSchema.properties).to.have.all.keys(Object.keys(fields));
    expect(materialSchema.properties).to.include.all.keys(Object.keys(fields));
  });
});
