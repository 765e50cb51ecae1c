import { expect } from 'chai';
import { findLevels } from '../../shared/database/levels.js';
import { findMaterial } from '../../shared/database/materials.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';

describe('a cycle that holds the same material id of two shops', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });

  it('reads, answers and writes of each its own, though locations have the same ids as well', async () => {
    const materialId = 'VMAT-VAR-same';
    const shops = [
      await createTestShop(postgres.database, { materialIds: [materialId] }),
      await createTestShop(postgres.database, { materialIds: [materialId], allowNegative: true }),
    ];
    // First each gets fields and stock of its own; then each changes another field, and stock by its own rules.
    const runEach = async (commands: Parameters<typeof operationOf>[0][][]) => {
      const groups = shops.map(({ shopId }, index) => {
        return { shopId, materialId, operations: (commands[index] ?? []).map((command) => operationOf(command)) };
      });
      const { outcomes } = await applyOperations(postgres.database, groups, { nowMs: Date.now });
      return groups.map(({ operations }) => outcomes.get(operations.at(-1)?.id ?? ''));
    };
    const book = (units: number) => {
      return { kind: 'adjust' as const, rows: [{ locationId: '1001', delta: toMicros(units) }] };
    };
    const update = (changes: object) => ({ kind: 'update' as const, changes });
    await runEach([
      [book(10), update({ vendor: 'First', sku: 'F-1' })],
      [book(20), update({ vendor: 'Second', sku: 'S-1' })],
    ]);
    const answers = await runEach([
      [book(-15), update({ unit: 'kg' })],
      [book(-25), update({ unit: 'pcs' })],
    ]);
    const wanted = [
      { vendor: 'First', sku: 'F-1', unit: 'kg', inventoryQuantity: 0 },
      { vendor: 'Second', sku: 'S-1', unit: 'pcs', inventoryQuantity: -5 },
    ];
    for (const [index, { shopId }] of shops.entries()) {
      const material = await findMaterial(postgres.database, shopId, materialId);
      expect(material).to.include(wanted[index]);
      expect(answers[index]).to.have.nested.property('result.material').that.deep.equals(material);
      const read = await findLevels(postgres.database, shopId, materialId);
      expect(read?.levels.map(({ quantity }) => quantity)).to.deep.equal([wanted[index]?.inventoryQuantity]);
    }
  });
});
