import { expect } from 'chai';
import { readInventoryBatch } from '../../../shared/contract/read-inventory-batch.js';
import { readMaterialChanges } from '../../../shared/contract/read-material-changes.js';

const text = 'Must hold neither U+0000 nor half of a surrogate pair.';

const refused: { field: string; value: unknown; message: string }[] = [
  { field: 'productName', value: null, message: 'Must be a string.' },
  { field: 'productName', value: '', message: 'Must not be empty.' },
  { field: 'productName', value: 'x'.repeat(256), message: 'Must have at most 255 characters.' },
  { field: 'productName', value: 'a\0', message: text },
  { field: 'variantName', value: 7, message: 'Must be a string or null.' },
  { field: 'sku', value: '\udc00x', message: text },
  { field: 'unit', value: '', message: 'Must not be empty.' },
  { field: 'unit', value: 'x'.repeat(17), message: 'Must have at most 16 characters.' },
  { field: 'unitCost', value: -1, message: 'Must be at least 0.' },
  { field: 'unitPrice', value: 1e9 + 1, message: 'Must be at most 1000000000.' },
  { field: 'unitPrice', value: '1', message: 'Must be a finite number or null.' },
  { field: 'inventoryQuantity', value: null, message: 'Must be a finite number.' },
  { field: 'inventoryQuantity', value: -1, message: 'Must be at least 0.' },
  { field: 'specifications', value: 'x'.repeat(10_001), message: 'Must have at most 10000 characters.' },
  { field: 'imageUrl', value: 'javascript:alert(1)', message: 'Must be an http or https address without blanks.' },
  { field: 'imageUrl', value: 'https://', message: 'Must be an http or https address without blanks.' },
  { field: 'imageUrl', value: 'https:///x', message: 'Must be an http or https address without blanks.' },
  { field: 'imageUrl', value: 'https://a b', message: 'Must be an http or https address without blanks.' },
  { field: 'imageUrl', value: 'https://a/\0', message: 'Must be an http or https address without blanks.' },
  { field: 'imageUrl', value: 'https://a/\ud800', message: 'Must be an http or https address without blanks.' },
  { field: 'imageUrl', value: `https://a/${'x'.repeat(2_039)}`, message: 'Must have at most 2048 characters.' },
  { field: 'imageUrl', value: `https://${'é'.repeat(5_000)}`, message: 'Must have at most 2048 characters.' },
  { field: 'isNonEssentialMaterial', value: 'true', message: 'Must be true or false.' },
  { field: 'isNonEssentialMaterial', value: null, message: 'Must be true or false.' },
  { field: 'weightValue', value: -0.5, message: 'Must be at least 0.' },
  { field: 'weightUnitId', value: '', message: 'Must not be empty.' },
];

describe('the changes of a field update', () => {
  for (const { field, value, message } of refused) {
    it(`refuses ${field} = ${JSON.stringify(value).slice(0, 40)}`, () => {
      const read = readMaterialChanges({ [field]: value, unrelated: 1 });
      expect(read.ok ? undefined : read.error.details).to.deep.equal([{ path: `/${field}`, message }]);
    });
  }

  it('does not parse an address that is too long, which takes time by the square of its length', () => {
    const canParse = URL.canParse.bind(URL);
    let parsed = 0;
    URL.canParse = (...given) => {
      parsed += 1;
      return canParse(...given);
    };
    try {
      expect(readMaterialChanges({ imageUrl: `https://${'😀'.repeat(2_040)}` }).ok, 'as long as it may be').to.equal(
        true,
      );
      expect(parsed).to.equal(1);
      readMaterialChanges({ imageUrl: `http://a${'\u0301\u0323'.repeat(500_000)}` });
      expect(parsed).to.equal(1);
    } finally {
      URL.canParse = canParse;
    }
  });

  it('refuses what is no object', () => {
    for (const body of [[1], null, 'x', 3]) {
      const read = readMaterialChanges(body);
      expect(read.ok ? undefined : read.error.code).to.equal('INVALID_INPUT');
    }
  });

  it('names every fault of a body, each once', () => {
    const read = readMaterialChanges({ unitCost: 'x', vendor: 1, weightValue: -1 });
    expect(read.ok ? [] : read.error.details?.map(({ path }) => path)).to.have.members([
      '/unitCost',
      '/vendor',
      '/weightValue',
    ]);
  });

  it('say a single fault in the message as well, since many clients show nothing else', () => {
    const messageOf = (body: unknown) => {
      const read = readMaterialChanges(body);
      return read.ok ? undefined : read.error.message;
    };
    expect(messageOf({ unitCost: 'x' })).to.equal(
      'The body has a fault at /unitCost: Must be a finite number or null.',
    );
    expect(messageOf([])).to.equal('The body has a fault: Must be an object.');
    expect(messageOf({ unitCost: 'x', vendor: 1 })).to.equal('The body has 2 faults; see details.');
  });

  it('do not repeat a path that a client has made very long', () => {
    const body = { updates: [{ locationId: '1', delta: 1 }], ['x'.repeat(5_000)]: 1 };
    const read = readInventoryBatch(body, 'VMAT-1');
    expect(read.ok ? undefined : read.error.message).to.equal('The body has a fault; see details.');
  });

  it('are only what was sent and is known, null where a field is cleared, and rounded', () => {
    const body = JSON.parse(
      '{"sku":null,"unitCost":1.23456789,"weightValue":-0,"inventoryQuantity":2.5,"colour":"red","id":"x","__proto__":{"vendor":"v"},"constructor":1}',
    ) as unknown;
    const read = readMaterialChanges(body);
    expect(read).to.deep.equal({
      ok: true,
      data: { sku: null, unitCost: 1.234568, inventoryQuantity: 2_500_000, weightValue: 0 },
    });
    expect(Object.getPrototypeOf(read.ok ? read.data : undefined)).to.equal(Object.prototype);
  });

  it('are empty where nothing known was sent', () => {
    expect(readMaterialChanges({ colour: '1e400' })).to.deep.equal({ ok: true, data: {} });
  });
});
