export interface Example {
  summary: string;
  value: unknown;
}

const none = { summary: '', value: {} };

export const examples = {
  listPage: none,
  material: none,
  connectedMaterial: none,
  materialChanges: none,
  updatedMaterial: none,
  levels: none,
  inventoryBatch: none,
  stockTake: none,
  batchResult: none,
  healthy: none,
  ready: none,
};
