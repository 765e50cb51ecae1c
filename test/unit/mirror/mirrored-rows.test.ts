import { expect } from 'chai';
import { cleanLocations, cleanVariants } from '../../../shared/mirror/mirrored-rows.js';
import type { PlatformVariant } from '../../../shared/platform/commerce-platform.js';

const variant: PlatformVariant = {
  id: '42',
  productTitle: 'Wax',
  title: '5 kg',
  sku: 'WAX-5',
  vendor: 'Oils',
  price: '12.50',
  unitCost: '4.2',
  imageUrl: 'https://cdn.example/wax.png',
  inventoryQuantity: -3,
};

describe('a mirrored row', () => {
  it('is what the platform says, money with six places', () => {
    expect(cleanVariants([variant])).to.deep.equal({
      rows: [
        {
          id: '42',
          productName: 'Wax',
          variantName: '5 kg',
          sku: 'WAX-5',
          vendor: 'Oils',
          unitPrice: '12.500000',
          unitCost: '4.200000',
          imageUrl: 'https://cdn.example/wax.png',
          inventoryQuantity: -3,
        },
      ],
      remarks: [],
    });
  });

  const astral = '\u{1f56f}';
  const longest = `https://a/${astral.repeat(2_038)}`;
  const cases: [string, Partial<PlatformVariant>, Record<string, unknown>, string[]][] = [
    ['empty texts are null', { title: '', sku: '', vendor: '' }, { variantName: null, sku: null, vendor: null }, []],
    ['absent texts are null', { title: null, sku: null }, { variantName: null, sku: null }, []],
    ['a name of 255 characters is whole', { title: astral.repeat(255) }, { variantName: astral.repeat(255) }, []],
    ['one of 256 is cut', { title: astral.repeat(256) }, { variantName: astral.repeat(255) }, ['variantName']],
    ['an empty product name has a stand-in', { productTitle: '' }, { productName: 'Product of 42' }, ['productName']],
    ['U+0000 is replaced', { sku: 'a\u0000b' }, { sku: 'a\ufffdb' }, ['sku']],
    ['half a character is replaced', { vendor: 'a\ud800' }, { vendor: 'a\ufffd' }, ['vendor']],
    ['a free one costs nothing', { price: '0.00', unitCost: '0' }, { unitPrice: '0.000000', unitCost: '0.000000' }, []],
    ['the highest price is a thousand million', { price: '1000000000' }, { unitPrice: '1000000000.000000' }, []],
    ['a higher one is left out', { price: '1000000000.01' }, { unitPrice: null }, ['unitPrice']],
    ['more than six places are rounded', { unitCost: '0.0000005' }, { unitCost: '0.000001' }, []],
    ['a picture that is no address is left out', { imageUrl: 'javascript:alert(1)' }, { imageUrl: null }, ['imageUrl']],
    ['so is an endless address', { imageUrl: `https://a/${'x'.repeat(2_048)}` }, { imageUrl: null }, ['imageUrl']],
    ['one of 2,048 characters is kept, of whatever length in UTF-16', { imageUrl: longest }, { imageUrl: longest }, []],
  ];
  for (const [title, given, wanted, remarked] of cases) {
    it(title, () => {
      const { rows, remarks } = cleanVariants([{ ...variant, ...given }]);
      expect(rows[0]).to.include(wanted);
      expect(remarks.map(({ kind, id, field }) => [kind, id, field])).to.deep.equal(
        remarked.map((field) => ['variant', '42', field]),
      );
    });
  }

  for (const price of ['-1', '1e3', '', 'free', '1,5', 'NaN', 'Infinity', '9'.repeat(400), '.5', '0x10']) {
    it(`${JSON.stringify(price.slice(0, 12))} is no price: left out with a remark, and the rest of the row stays`, () => {
      const { rows, remarks } = cleanVariants([{ ...variant, price }]);
      expect(rows[0]).to.include({ unitPrice: null, productName: 'Wax' });
      const what = 'left out: not a decimal number from 0 to 1000000000';
      expect(remarks).to.deep.equal([{ kind: 'variant', id: '42', field: 'unitPrice', what }]);
    });
  }

  it('a page that lists an id twice has it once, as it was listed last', () => {
    const { rows } = cleanVariants([variant, { ...variant, id: '43' }, { ...variant, title: 'Later' }]);
    expect(rows.map(({ id, variantName }) => [id, variantName])).to.deep.equal([
      ['42', 'Later'],
      ['43', '5 kg'],
    ]);
  });

  it('a location has a name that can be stored, whatever it is called', () => {
    const { rows, remarks } = cleanLocations([
      { id: '1', name: 'Shop' },
      { id: '2', name: '' },
      { id: '3', name: 'x'.repeat(1_000) },
    ]);
    expect(rows.map(({ name }) => name)).to.deep.equal(['Shop', 'Location 2', 'x'.repeat(255)]);
    expect(remarks.map(({ id }) => id)).to.deep.equal(['2', '3']);
  });

  it('a remark quotes nothing of what the platform wrote', () => {
    const { remarks } = cleanVariants([{ ...variant, price: 'secret', imageUrl: 'secret', vendor: 'secret\u0000' }]);
    expect(remarks).to.have.lengthOf(3);
    expect(JSON.stringify(remarks)).to.not.contain('secret');
  });
});
