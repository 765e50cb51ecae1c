import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { connectForTest } from '../support/database/database.js';
import type { Attempt, History, Intent, SentRow } from '../support/history/history.js';
import { checkHistory } from '../support/history/ledger-checker.js';
import { createTestDatabase } from '../support/processes/servers.js';
import type { TestDatabase } from '../support/processes/servers.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

/** A checker that finds nothing proves nothing: each of these histories has one fault, which it must report. */
describe('the checker of histories', () => {
  let server: TestDatabase;
  let database: Database;
  let shop: TestShop;
  let history: History;
  let clockMs: number;
  before(async () => {
    server = await createTestDatabase();
    database = connectForTest(server.url, { pipeline: true });
  });
  after(async () => {
    await database.destroy();
    await server.drop();
  });
  beforeEach(async () => {
    shop = await createTestShop(database);
    history = { intents: [], reads: [] };
    clockMs = 0;
    await change('a', [{ locationId: '1001', delta: 5 }]);
    await change('b', [
      { locationId: '1001', delta: -9 },
      { locationId: '1002', absolute: 2 },
    ]);
    await change('c', [{ locationId: '1001', delta: 1 }]);
  });

  /** Applies a change for real and adds it to the history, sent and answered in a time span of its own. */
  async function change(tag: string, rows: SentRow[]): Promise<void> {
    const [materialId = ''] = shop.materialIds;
    const operation = operationOf({
      kind: 'adjust',
      rows: rows.map(({ locationId, delta, absolute }) => ({
        locationId,
        ...(delta === undefined ? {} : { delta: toMicros(delta) }),
        ...(absolute === undefined ? {} : { absolute: toMicros(absolute) }),
        reference: tag,
      })),
    });
    await applyOperations(database, [{ shopId: shop.shopId, materialId, operations: [operation] }], {
      nowMs: Date.now,
    });
    const results = rows.map((_, index) => ({ index, ok: true, id: materialId }));
    const body = { data: { okCount: rows.length, results } };
    const headers = { 'x-request-id': operation.id };
    const attempt: Attempt = {
      sentMs: (clockMs += 10),
      answeredMs: (clockMs += 5),
      answer: { status: 200, headers, body, text: '' },
    };
    history.intents.push({ materialId, tag, change: { kind: 'adjust', rows }, key: undefined, attempts: [attempt] });
  }

  const faultsNow = async () => (await checkHistory(database, shop, history)).faults;
  const intent = (tag: string): Intent => {
    const found = history.intents.find((each) => each.tag === tag);
    if (found === undefined) throw new Error(`no ${tag}`);
    return found;
  };
  const attempt = (tag: string): Attempt => intent(tag).attempts[0] as Attempt;
  const expectFault = async (pattern: RegExp) => {
    const faults = await faultsNow();
    expect(
      faults.some((fault) => pattern.test(fault)),
      faults.join('\n') || 'no fault was found',
    ).to.equal(true);
  };

  it('finds nothing in a true one', async () => {
    const [materialId = ''] = shop.materialIds;
    const levels = new Map([
      ['1001', 1],
      ['1002', 2],
    ]);
    history.reads.push({ materialId, sentMs: clockMs + 1, answeredMs: clockMs + 2, levels });
    expect(await faultsNow()).to.deep.equal([]);
  });

  it('finds a change that was acknowledged and lost', async () => {
    const lost = { ...intent('a'), tag: 'lost', attempts: [{ ...attempt('a') }] };
    const { answer } = attempt('a');
    if (answer !== undefined) lost.attempts[0] = { ...attempt('a'), answer: { ...answer, headers: {} } };
    history.intents.push(lost);
    await expectFault(/lost was acknowledged and is lost/);
  });

  it('finds a change that was applied twice', async () => {
    await change('a', [{ locationId: '1001', delta: 5 }]);
    const [second] = history.intents.splice(-1);
    intent('a').attempts.push(...(second?.attempts ?? []));
    await expectFault(/a was applied twice/);
  });

  it('finds a change that was refused for certain and yet applied', async () => {
    const refused = attempt('c');
    if (refused.answer !== undefined) refused.answer = { ...refused.answer, status: 503, body: {} };
    await expectFault(/c was refused for certain, and yet applied/);
  });

  it('finds a change that nobody asked for', async () => {
    history.intents.splice(0, 1);
    await expectFault(/which nobody asked for/);
  });

  it('finds two changes in the wrong order', async () => {
    const [one, other] = [attempt('a'), attempt('c')];
    [one.sentMs, other.sentMs] = [other.sentMs, one.sentMs];
    [one.answeredMs, other.answeredMs] = [other.answeredMs, one.answeredMs];
    await expectFault(/was answered before .* was sent, and comes after it/);
  });

  it('takes an order for right that concurrent requests may have', async () => {
    attempt('a').answeredMs = 1_000;
    attempt('b').answeredMs = 1_000;
    attempt('c').sentMs = 0;
    expect(await faultsNow()).to.deep.equal([]);
  });

  it('finds a reply that does not say what happened', async () => {
    const { answer } = attempt('b');
    if (answer !== undefined) answer.body = { data: { results: [{ index: 0, ok: true }] } };
    await expectFault(/b was answered 200/);
  });

  it('finds a row that was booked otherwise than it was sent', async () => {
    intent('c').change = { kind: 'adjust', rows: [{ locationId: '1001', delta: 2 }] };
    await expectFault(/c was sent as .* and booked as/);
  });

  it('finds half a change', async () => {
    intent('c').change = {
      kind: 'adjust',
      rows: [
        { locationId: '1001', delta: 1 },
        { locationId: '1002', delta: 1 },
      ],
    };
    await expectFault(/c was sent as .* and booked as/);
  });

  it('finds a row that does not follow the rule of stock', async () => {
    // 9 from 5 stops at zero; had the shop allowed negative levels, it would not have.
    const { faults } = await checkHistory(database, { ...shop, allowNegative: true }, history);
    expect(faults.join('\n')).to.match(/row 2 at 1001/);
  });

  it('finds a stale read, and one of a state that never was', async () => {
    const [materialId = ''] = shop.materialIds;
    for (const level of [5, 7]) {
      history.reads = [
        {
          materialId,
          sentMs: clockMs + 1,
          answeredMs: clockMs + 2,
          levels: new Map([
            ['1001', level],
            ['1002', 2],
          ]),
        },
      ];
      await expectFault(/was read at 1001, no state from 3 to 3/);
    }
  });

  it('finds a level that is not the sum of its ledger', async () => {
    await database.raw('UPDATE levels SET quantity = quantity + 1 WHERE shop_id = ?', [shop.shopId]);
    await expectFault(/the ledger does not add up/);
  });
});
