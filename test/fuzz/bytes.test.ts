import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { checkLedger } from '../../shared/database/ledger-check.js';
import { counting } from '../support/long-run/counting.js';
import { connectForTest } from '../support/database/database.js';
import { createDice, diceOf } from '../support/dice.js';
import { request } from '../support/http/http.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import type { TestShop } from '../support/shop/shop.js';
import { converse } from './converse.js';
import { caseSeed, fuzzedIds, openFuzzShop, platformId } from './fuzz-shop.js';
import { composeRequest } from './generate/compose.js';
import { mutate, split } from './generate/mutate.js';
import { readPublished } from './generate/published.js';
import type { Published } from './generate/published.js';
import { judgeUnknown } from './judge.js';
import { watchMemory } from './memory-watch.js';
import { sideBySide } from './side-by-side.js';

const size = sizeOf({ small: 6_000, long: 1_500_000 });
const sockets = 24;
/** The longest request that bytes are made of; a fault of one byte in a megabyte would hardly ever be met. */
const bytesMax = 4_000;
/** Nearly all have one; fewer where the machine is so slow that clients end their side before it comes. */
const answeredMin = 0.5;

describe('T9: bytes that are nearly HTTP', () => {
  let service: Service;
  let database: Database;
  let shop: TestShop;
  let published: Published;
  before(async () => {
    service = await startService();
    database = connectForTest(service.databaseUrl);
    shop = await openFuzzShop(database);
    published = await readPublished((asked) => request(service.baseUrls[0] ?? '', asked), shop.writeKey);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  /** A case by its number: the same for the same seed. */
  function partsOf(seed: number, index: number): Buffer[] {
    const dice = diceOf(caseSeed(seed, index));
    const { writeKey, readKey } = shop;
    const known = (name: string) => (name.startsWith('locationId') ? shop.locationIds : undefined);
    const deps = { dice, resolve: published.resolve, known, writeKey, readKey, variantIds: [...fuzzedIds, platformId] };
    // An answer to HEAD ends where its headers end: without knowing what was asked it cannot be read.
    const operations = published.operations.filter(({ isSecured, method }) => isSecured && method !== 'HEAD');
    const requests: Buffer[] = [];
    const count = 1 + dice.below(dice.chance(0.8) ? 2 : 8);
    while (requests.length < count) {
      const { bytes } = composeRequest(deps, dice.pick(operations), dice.chance(0.8) ? 'valid' : 'near');
      if (bytes.length <= bytesMax) requests.push(bytes);
    }
    return split(dice, mutate(dice, requests));
  }

  /** To a conversation, a dead service has only hung up; any of those that ran side by side may have ended it. */
  function expectAlive(): void {
    const api = service.apis[0];
    if (api?.hasExited() !== false) throw new Error(`The API ended; it said:\n${api?.logs().slice(-5).join('\n')}`);
  }

  /** Whether the bytes had any answer. */
  async function runCase(seed: number, index: number): Promise<boolean> {
    const parts = partsOf(seed, index);
    let said = '';
    try {
      const { answers, rest, endedByService } = await converse(service.apis[0]?.port ?? 0, parts);
      said = answers.map(({ status, text }) => `${status} ${text.slice(0, 500)}`).join('\n') + rest;
      expectAlive();
      for (const answer of answers) {
        judgeUnknown(answer);
        if (answer.status === 502) expect(Buffer.concat(parts).includes(platformId), 'a 502').to.equal(true);
      }
      if (endedByService) {
        expect(rest, 'cut short').to.equal('');
        expect(answers.length, 'answers before the service hung up').to.be.above(0);
      }
      return answers.length > 0;
    } catch (error) {
      const sent = parts.map((part) => JSON.stringify(part.toString('latin1').slice(0, 4_000))).join(' + ');
      const replay = `TEST_SEED=${seed} TEST_CASE=${index}`;
      throw new Error(`${(error as Error).message}\n${replay}\nsent: ${sent}\nanswered: ${said}`, { cause: error });
    }
  }

  it('are answered whole, with a request id, or never become a request; the service goes on', async () => {
    const { seed } = createDice('T9, bytes');
    let answered = 0;
    const memory = watchMemory(service.apis[0]?.pid ?? 0, size);
    await counting({ test: 'T9', unit: 'conversations', size }, async (count) => {
      const run = async (index: number) => {
        if (await runCase(seed, index)) answered += 1;
        memory.look(count);
      };
      await sideBySide(count, sockets, () => ({ run, close: () => undefined }));
      expect((await request(service.baseUrls[0] ?? '', { path: '/readyz' })).status).to.equal(200);
      expect((await checkLedger(database)).mismatches).to.deep.equal([]);
      // A service that says nothing, and then hangs up, would be none of the faults above.
      expect(answered, 'conversations with an answer').to.be.at.least(answeredMin * count.made());
      count.judged();
      return [{ name: 'with an answer', value: answered }, ...memory.figures()];
    });
  });
});
