import { expect } from 'chai';
import { materialKey } from '../../../shared/domain/operation.js';

describe('the key of a material', () => {
  it('is another for each shop and each id, however their digits are divided', () => {
    const keys = [
      { shopId: 1, materialId: '23' },
      { shopId: 12, materialId: '3' },
      { shopId: 12, materialId: 'VMAT-3' },
    ].map(materialKey);
    expect(keys).to.deep.equal(['1.23', '12.3', '12.VMAT-3']);
  });
});
