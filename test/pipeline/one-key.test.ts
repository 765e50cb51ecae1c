import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { adjust, totalOf } from '../support/shop/change.js';
import { counting } from '../support/long-run/counting.js';
import { createDice } from '../support/dice.js';
import type { Dice } from '../support/dice.js';
import type { Answer } from '../support/http/http.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

const copiesMax = 16;
/** Materials worked on side by side, one key at a time on each; their totals are checked after `keysABatch` keys. */
const materials = 4;
const keysABatch = 40;

/** One key: what was sent with it, and what came back. */
interface Round {
  answers: Answer[];
  deltas: number[];
}

describe('T18: one Idempotency-Key, sent 2 to 16 times at once over two API processes', () => {
  let service: Service;
  let database: Database;
  useService({ apis: 2, workers: 2 }, (started) => ({ service, database } = started));

  it('has one effect and one answer; every other body with it is answered 422', async () => {
    const dice = createDice('T18');
    const size = sizeOf({ small: 200, long: 50_000 });
    let requests = 0;
    await counting({ test: 'T18', unit: 'keys', size }, async (count) => {
      while (count.left() > 0) {
        const shop = await createTestShop(database, { materials });
        const keys = Math.min(keysABatch, count.left());
        const moved = shop.materialIds.map(() => 0);
        await Promise.all(
          shop.materialIds.map(async (materialId, lane) => {
            for (let key = lane; key < keys; key += materials) {
              const round = await sendAtOnce(shop, materialId, dice, `key-${String(key)}`);
              moved[lane] = (moved[lane] ?? 0) + effectOf(round);
              requests += round.answers.length;
              count.add();
            }
          }),
        );
        for (const [lane, materialId] of shop.materialIds.entries()) {
          expect(await totalOf(database, shop, materialId), `TEST_SEED=${String(dice.seed)}`).to.equal(moved[lane]);
        }
        count.judged();
      }
      return [{ name: 'requests', value: requests }];
    });
  });

  /** Mostly the same body every time; now and then some have another. */
  async function sendAtOnce(shop: TestShop, materialId: string, dice: Dice, idempotencyKey: string): Promise<Round> {
    const [locationId = ''] = shop.locationIds;
    const isMixed = dice.chance(0.3);
    const copies = 2 + dice.below(copiesMax - 1);
    const deltas = Array.from({ length: copies }, () => (isMixed ? 1 + dice.below(3) : 1));
    const answers = await Promise.all(
      deltas.map((delta) =>
        adjust(dice.pick(service.baseUrls), shop, [{ locationId, delta }], { materialId, idempotencyKey }),
      ),
    );
    // By now one is executed, so a body that was never sent before certainly differs from it.
    const late = await adjust(dice.pick(service.baseUrls), shop, [{ locationId, delta: 99 }], {
      materialId,
      idempotencyKey,
    });
    return { answers: [...answers, late], deltas: [...deltas, 99] };
  }
});

/** The delta of the one request that was executed; fails if there is not exactly one, or another answer is wrong. */
function effectOf({ answers, deltas }: Round): number {
  const executed = answers.flatMap((answer, index) =>
    answer.status === 200 && answer.headers['idempotency-replayed'] === undefined ? [index] : [],
  );
  expect(executed, 'executed').to.have.length(1);
  const [first = -1] = executed;
  const { data } = answers[first]?.body as { data: unknown };
  for (const [index, { status, body, text }] of answers.entries()) {
    if (deltas[index] === deltas[first]) {
      expect(status, text).to.equal(200);
      expect((body as { data: unknown }).data).to.deep.equal(data);
    } else {
      expect(status, text).to.equal(422);
      expect(body).to.have.nested.property('error.code', 'IDEMPOTENCY_KEY_REUSED');
    }
  }
  expect(new Set(answers.map(({ headers }) => headers['x-request-id']))).to.have.property('size', answers.length);
  return deltas[first] ?? 0;
}
