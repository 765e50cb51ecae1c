import { expect } from 'chai';
import fc from 'fast-check';
import { booleans, decimals, integers, moments, texts, uuids } from '../../../shared/database/array-literals.js';
import type { Database } from '../../../shared/database/connect.js';
import { levelMaxMicros, toDecimal } from '../../../shared/domain/quantity.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

/** Postgres reads each as what was written: itself, as JSON, element by element. */
describe('array literals', () => {
  let testDatabase: TestDatabase;
  let database: Database;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 1 });
  });
  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  async function readBack(literal: string, type: string): Promise<unknown[]> {
    const { rows } = await database.raw<{ rows: { element: unknown }[] }>(
      `SELECT to_json(element) AS element FROM unnest(CAST(? AS ${type}[])) AS element`,
      [literal],
    );
    return rows.map(({ element }) => element);
  }

  const listsOf = <T>(element: fc.Arbitrary<T>) => fc.array(fc.option(element), { maxLength: 20 });
  const same = <T>(item: T) => item;

  /** Any text without the one character that no text of Postgres can have; it is refused before it comes here. */
  const anyText = fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => !text.includes('\u0000'));

  it('texts: quotes, backslashes, braces, commas, NULL and the empty one', async () => {
    const nasty = ['', 'NULL', 'null', '"', '\\', '\\"', '{', '}', ',', ' a ', 'a\nb', '€', '😀', null];
    expect(await readBack(texts(nasty, same), 'text')).to.deep.equal(nasty);
    await fc.assert(
      fc.asyncProperty(listsOf(anyText), async (items) => {
        expect(await readBack(texts(items, same), 'text')).to.deep.equal(items);
      }),
    );
  });

  it('texts that are JSON', async () => {
    const items = [{ message: 'The "shop" has no location \\.' }, [1, null]];
    expect(
      await readBack(
        texts(items, (item) => JSON.stringify(item)),
        'json',
      ),
    ).to.deep.equal(items);
  });

  it('decimals, up to the bounds of a level', async () => {
    const micros = fc.integer({ min: -levelMaxMicros, max: levelMaxMicros });
    await fc.assert(
      fc.asyncProperty(listsOf(micros), async (items) => {
        const { rows } = await database.raw<{ rows: { element: string | null }[] }>(
          'SELECT element::text FROM unnest(CAST(? AS numeric[])) AS element',
          [decimals(items, same)],
        );
        const expected = items.map((item) => (item === null ? null : toDecimal(item)));
        expect(rows.map(({ element }) => element)).to.deep.equal(expected);
      }),
    );
  });

  it('integers, as numbers and as the text of a bigint', async () => {
    const items = [0, -1, 2_147_483_647, null];
    expect(await readBack(integers(items, same), 'integer')).to.deep.equal(items);
    const { rows } = await database.raw<{ rows: { element: string }[] }>(
      'SELECT element::text FROM unnest(CAST(? AS bigint[])) AS element',
      [integers(['9223372036854775807', '-1'], same)],
    );
    expect(rows.map(({ element }) => element)).to.deep.equal(['9223372036854775807', '-1']);
  });

  it('booleans and UUIDs', async () => {
    const flags = [true, null, false];
    expect(await readBack(booleans(flags, same), 'boolean')).to.deep.equal(flags);
    const ids = ['019a9f4e-6b1c-7a2d-8e3f-0123456789ab', null];
    expect(await readBack(uuids(ids, same), 'uuid')).to.deep.equal(ids);
  });

  it('nothing at all', async () => {
    for (const literal of [
      texts([], same),
      decimals([], same),
      integers([], same),
      booleans([], same),
      uuids([], same),
    ]) {
      expect(literal).to.equal('{}');
    }
  });

  it('a number that is none is a fault, and not a zero', async () => {
    const refused = await readBack(decimals([Number.NaN], same), 'numeric').catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error).with.property('code', '22P02');
  });

  it('moments: each its own, also where the one before it is the same', async () => {
    const [one, other] = [Date.UTC(2026, 0, 1, 12, 30, 15, 7), 0];
    const read = await readBack(moments([one, one, null, other, one], same), 'timestamptz');
    const msOf = (element: unknown) => (element === null ? null : Date.parse(element as string));
    expect(read.map(msOf)).to.deep.equal([one, one, null, other, one]);
  });
});
