import { expect } from 'chai';
import { readInventoryBatch, readLenientBatch } from '../../../shared/contract/read-inventory-batch.js';

const good = { locationId: 'A', delta: 1 };
const read = (updates: unknown) => readLenientBatch({ updates }, 'VMAT-1');

describe('a batch that is handled leniently', () => {
  it('keeps the good rows in order and names the others by their index in the request', () => {
    const batch = read([{}, good, { ...good, absolute: 2 }, { ...good, delta: 2, reason: 'x' }, null]);
    expect(batch.ok && batch.data.rows).to.deep.equal([
      { locationId: 'A', delta: 1_000_000 },
      { locationId: 'A', delta: 2_000_000, reason: 'x' },
    ]);
    expect(batch.ok && batch.data.malformed.map(({ index, code }) => [index, code])).to.deep.equal([
      [0, 'INVALID_INPUT'],
      [2, 'INVALID_INPUT'],
      [4, 'INVALID_INPUT'],
    ]);
  });

  it('says all that is wrong with a row in one message', () => {
    const batch = read([{ locationId: 1, delta: 'x', unit: 'kg', variantId: 'VMAT-2' }, 7]);
    expect(batch.ok && batch.data.malformed.map(({ message }) => message)).to.deep.equal([
      'unit: Is not a known field here. locationId: Must be a string. delta: Must be a finite number. variantId: Must equal the variantId of the request.',
      'Must be an object.',
    ]);
  });

  it('without a bad row is what it is without leniency', () => {
    const strict = readInventoryBatch({ updates: [good, good] }, 'VMAT-1');
    const lenient = read([good, good]);
    expect(lenient.ok && lenient.data).to.deep.equal({ rows: strict.ok && strict.data, malformed: [] });
  });

  for (const body of [null, [], {}, { updates: {} }, { updates: [] }, { updates: [good], dryRun: true }]) {
    it(`is refused as a whole where the request around its rows is wrong: ${JSON.stringify(body)}`, () => {
      const read = readLenientBatch(body, 'VMAT-1');
      expect(read).to.deep.equal(readInventoryBatch(body, 'VMAT-1'));
      expect(read.ok).to.equal(false);
    });
  }

  it('is refused as a whole where it has more rows than a request may', () => {
    expect(read(Array.from({ length: 1_001 }, () => ({}))).ok).to.equal(false);
    expect(read(Array.from({ length: 1_000 }, () => ({}))).ok).to.equal(true);
  });
});
