import { expect } from 'chai';
import { materialIdKind, virtualMaterialId } from '../../../shared/domain/material-id.js';
import type { MaterialIdKind } from '../../../shared/domain/material-id.js';

describe('the id of a material', () => {
  const kinds: Record<string, MaterialIdKind> = {
    '1': 'platform',
    '41234567890123': 'platform',
    '12345678901234567890': 'platform',
    '123456789012345678901': 'invalid',
    '007': 'platform',
    '-1': 'invalid',
    '1.5': 'invalid',
    '１': 'invalid',
    'VMAT-VAR-5f8b1c9e-0000-4000-8000-000000000000': 'virtual',
    'VMAT-x': 'virtual',
    'VMAT-': 'unknown',
    'VMAT-a:b': 'unknown',
    'VMAT-a.b': 'unknown',
    'VMAT-é': 'unknown',
    'VMAT-a\n': 'unknown',
    [`VMAT-${'a'.repeat(64)}`]: 'virtual',
    [`VMAT-${'a'.repeat(65)}`]: 'unknown',
    'vmat-x': 'invalid',
    'XVMAT-x': 'invalid',
    '': 'invalid',
    'gid://shopify/ProductVariant/1': 'invalid',
    '1\n': 'invalid',
  };
  for (const [id, kind] of Object.entries(kinds)) {
    it(`${JSON.stringify(id)} is ${kind}`, () => {
      expect(materialIdKind(id)).to.equal(kind);
    });
  }

  it('is minted as VMAT-VAR- and a UUID', () => {
    const minted = virtualMaterialId('5f8b1c9e-0000-4000-8000-000000000000');
    expect(minted).to.equal('VMAT-VAR-5f8b1c9e-0000-4000-8000-000000000000');
    expect(materialIdKind(minted)).to.equal('virtual');
  });
});
