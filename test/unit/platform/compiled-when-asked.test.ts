import { expect } from 'chai';
import { compiledWhenAsked } from '../../../shared/platform/shopify/compiled-when-asked.js';

describe('the check of a reply', () => {
  const isData = compiledWhenAsked((ajv) =>
    ajv.compile<{ id: string }[]>({
      type: 'array',
      items: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    }),
  );

  it('takes what has the shape, and refuses what has not', () => {
    expect(isData([{ id: '1' }, { id: '2' }])).to.equal(true);
    expect(isData([{ id: '1' }, { id: 2 }])).to.equal(false);
  });

  it('ends with the first fault, since nobody is told of the others', () => {
    let looks = 0;
    const later = {
      get id() {
        looks += 1;
        return '1';
      },
    };
    expect(isData([{ id: '1' }, later])).to.equal(true);
    expect(looks).to.be.greaterThan(0);
    looks = 0;
    expect(isData([{}, later])).to.equal(false);
    expect(looks).to.equal(0);
  });
});
