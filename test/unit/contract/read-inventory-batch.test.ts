import { expect } from 'chai';
import { inventoryRowSchema } from '../../../shared/contract/inventory-batch.js';
import { readInventoryBatch } from '../../../shared/contract/read-inventory-batch.js';

const id = 'VMAT-VAR-1';

function faultsOf(body: unknown): Record<string, string> {
  const read = readInventoryBatch(body, id);
  if (read.ok) throw new Error('the batch was accepted');
  expect(read.error.code).to.equal('INVALID_INPUT');
  return Object.fromEntries((read.error.details ?? []).map(({ path, message }) => [path, message]));
}

const row = (more: object) => ({
  updates: [
    { locationId: 'L', delta: 1 },
    { locationId: 'L', ...more },
  ],
});
const proto = JSON.parse('{"locationId":"L","delta":1,"__proto__":{"delta":2}}') as object;

const cases: { title: string; body: unknown; faults: Record<string, string> }[] = [
  { title: 'an array', body: [1], faults: { '': 'Must be an object.' } },
  { title: 'null', body: null, faults: { '': 'Must be an object.' } },
  { title: 'no updates', body: {}, faults: { '/updates': 'Is required.' } },
  { title: 'updates on the prototype', body: Object.create({ updates: [] }), faults: { '/updates': 'Is required.' } },
  { title: 'updates that are no array', body: { updates: {} }, faults: { '/updates': 'Must be an array.' } },
  { title: 'no row', body: { updates: [] }, faults: { '/updates': 'Must hold at least one row.' } },
  {
    title: 'too many rows',
    body: { updates: Array.from({ length: 1_001 }, () => 'junk') },
    faults: { '/updates': 'Must hold at most 1000 rows.' },
  },
  {
    title: 'a field beside updates',
    body: { updates: [{ locationId: 'L', delta: 1 }], dryRun: true },
    faults: { '/dryRun': 'Is not a known field here.' },
  },
  {
    title: 'a field beside updates, and the rows too',
    body: { updates: [{ locationId: 'A' }, { locationId: 'A', delta: 1 }, null], dryRun: true },
    faults: {
      '/dryRun': 'Is not a known field here.',
      '/updates/0': 'Must carry exactly one of delta and absolute.',
      '/updates/2': 'Must be an object.',
    },
  },
  { title: 'a row that is no object', body: { updates: [7] }, faults: { '/updates/0': 'Must be an object.' } },
  {
    title: 'neither delta nor absolute',
    body: row({}),
    faults: { '/updates/1': 'Must carry exactly one of delta and absolute.' },
  },
  {
    title: 'both delta and absolute',
    body: row({ delta: 1, absolute: 1 }),
    faults: { '/updates/1': 'Must carry exactly one of delta and absolute.' },
  },
  {
    title: 'a row without anything',
    body: { updates: [{}] },
    faults: {
      '/updates/0/locationId': 'Is required.',
      '/updates/0': 'Must carry exactly one of delta and absolute.',
    },
  },
  { title: 'a text as delta', body: row({ delta: '1' }), faults: { '/updates/1/delta': 'Must be a finite number.' } },
  { title: 'null as delta', body: row({ delta: null }), faults: { '/updates/1/delta': 'Must be a finite number.' } },
  {
    title: 'a number past the range of a double',
    body: row({ delta: JSON.parse('1e400') as number }),
    faults: { '/updates/1/delta': 'Must be a finite number.' },
  },
  {
    title: 'a delta past its bound',
    body: row({ delta: -1e9 - 1 }),
    faults: { '/updates/1/delta': 'Must be at least -1000000000.' },
  },
  {
    title: 'a negative absolute',
    body: row({ absolute: -0.1 }),
    faults: { '/updates/1/absolute': 'Must be at least 0.' },
  },
  {
    title: 'an empty location',
    body: row({ locationId: '', delta: 1 }),
    faults: { '/updates/1/locationId': 'Must not be empty.' },
  },
  {
    title: 'U+0000 in a location',
    body: row({ locationId: 'a\0b', delta: 1 }),
    faults: { '/updates/1/locationId': 'Must hold neither U+0000 nor half of a surrogate pair.' },
  },
  {
    title: 'half of a surrogate pair in a reason',
    body: row({ delta: 1, reason: '\ud83d' }),
    faults: { '/updates/1/reason': 'Must hold neither U+0000 nor half of a surrogate pair.' },
  },
  {
    title: 'a foreign variantId',
    body: row({ delta: 1, variantId: 'VMAT-VAR-2' }),
    faults: { '/updates/1/variantId': 'Must equal the variantId of the request.' },
  },
  {
    title: 'a misspelt expected',
    body: row({ delta: 1, expectd: 3 }),
    faults: { '/updates/1/expectd': 'Is not a known field here.' },
  },
  {
    title: 'a field whose name needs escaping in a pointer',
    body: row({ delta: 1, 'a/b~c': 3 }),
    faults: { '/updates/1/a~1b~0c': 'Is not a known field here.' },
  },
  {
    title: '__proto__ in a row',
    body: { updates: [proto] },
    faults: { '/updates/0/__proto__': 'Is not a known field here.' },
  },
  {
    title: 'more fields than a row can have',
    body: row(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`f${index}`, 1]))),
    faults: { '/updates/1': 'Has more than 32 fields.' },
  },
];

describe('the rows of a batch', () => {
  for (const { title, body, faults } of cases) {
    it(`names the faults of: ${title}`, () => {
      expect(faultsOf(body)).to.deep.equal(faults);
    });
  }

  it('are copied in their order, rounded to millionths, with nothing but what a row may hold', () => {
    const read = readInventoryBatch(
      {
        updates: [
          { locationId: 'A', delta: 0.1 + 0.2, variantId: id },
          { locationId: 'A', absolute: 1.0000005, expected: -8e9, reason: '', reference: '😀' },
          { locationId: 'B', delta: -0 },
        ],
      },
      id,
    );
    expect(read).to.deep.equal({
      ok: true,
      data: [
        { locationId: 'A', delta: 300_000 },
        { locationId: 'A', absolute: 1_000_001, expected: -8e15, reason: '', reference: '😀' },
        { locationId: 'B', delta: 0 },
      ],
    });
  });

  for (const [name, { type }] of Object.entries(inventoryRowSchema.properties)) {
    if (name === 'variantId') continue;
    it(`keep their ${name}: whatever the schema takes goes on, or is refused`, () => {
      const amount = name === 'absolute' ? {} : { delta: 1 };
      const row = { locationId: 'A', ...amount, [name]: type === 'string' ? 'x' : 1 };
      const read = readInventoryBatch({ updates: [row] }, id);
      const kept = read.ok ? Object.keys(read.data[0] ?? {}) : [];
      expect(kept, 'see toAdjustmentRow in shared/contract/read-inventory-batch.ts').to.include(name);
    });
  }

  it('are all named when all of a thousand are bad, and the list stays bounded', () => {
    const bad = { locationId: '', delta: 'x', absolute: -1, junk: 1 };
    const faults = Object.keys(faultsOf({ updates: Array.from({ length: 1_000 }, () => bad) }));
    expect(new Set(faults.map((path) => path.split('/')[2])).size).to.equal(1_000);
    expect(faults.length).to.be.below(1_200);
  });
});
