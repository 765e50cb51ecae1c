import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { authenticate } from '../../../api/http/authenticate.js';
import { createBodyMemory } from '../../../api/http/body/body-memory.js';
import { createFailedAttempts } from '../../../api/http/failed-attempts.js';
import { createKeyRing, lookUpMsMax } from '../../../api/http/key-ring.js';
import type { KeyRing } from '../../../api/http/key-ring.js';
import type { RequestState } from '../../../api/http/request-state.js';
import { createReads } from '../../../api/reads.js';
import type { KeyWithShop } from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { startAnswersFromOutside } from '../../support/http/answers-from-outside.js';
import type { AnswersFromOutside } from '../../support/http/answers-from-outside.js';

const database = {} as unknown as Database;
const waitMsMax = 100;
/** Failures of an address in a minute. */
const failuresMax = 60;

describe('a process that stood still while others answered', () => {
  let outside: AnswersFromOutside;
  before(async () => (outside = await startAnswersFromOutside()));
  after(() => outside.close());
  // At the end of a turn, after which the timers come before the sockets.
  beforeEach(() => nextTurn());

  for (const [what, ms] of [
    ['in time', lookUpMsMax + 20],
    ['too long ago to be believed, so that it is asked once more', 3 * lookUpMsMax],
  ] as const) {
    it(`takes Postgres at its word, which it was given ${what}`, async () => {
      const minted = mintKey();
      const stored = { ...minted, revokedAt: null, expiresAt: null, lastUsedAt: null } as unknown as KeyWithShop;
      const ring = createKeyRing({
        database,
        logger: { warn: () => undefined, info: () => undefined } as unknown as Logger,
        lookUp: () => outside.ask().then(() => stored),
        touch: () => Promise.resolve(),
      });
      const found = ring.find(minted);
      outside.standStill(ms);
      expect(await found).to.equal(stored);
    });
  }

  it('has a place for a key whose forerunners were all found good meanwhile', async () => {
    let answered = Promise.resolve();
    const keys = {
      wasGood: () => false,
      find: () => answered.then(() => ({ id: 'key', scope: 'read', shop: { id: 1 } })),
    } as unknown as KeyRing;
    const check = authenticate({ keys, failures: createFailedAttempts(), clientAddress: () => '192.0.2.1' });
    const ask = async () => {
      const state = {} as RequestState;
      const req = { headers: { authorization: `Bearer ${mintKey().key}` } };
      await check({ state, req } as unknown as Parameters<typeof check>[0], () => Promise.resolve());
      return state.reply;
    };
    answered = outside.ask();
    const replies = Array.from({ length: failuresMax + 1 }, () => ask());
    outside.standStill(2 * lookUpMsMax);
    expect(new Set(await Promise.all(replies))).to.deep.equal(new Set([undefined]));
  });

  it('has a turn for a read that waited for one whose answer was there', async () => {
    const reads = createReads({ database, connectionsMax: 1, waitMsMax });
    const answered = outside.ask();
    const before = reads.ask(1, () => answered);
    const after = reads.ask(2, () => Promise.resolve('read'));
    outside.standStill(2 * waitMsMax);
    expect(await after).to.deep.equal({ ok: true, data: 'read' });
    await before;
  });

  it('has room for a body that waited for one whose rest was there', async () => {
    const memory = createBodyMemory({ processBytesMax: 1, shopBytesMax: 1, waitMsMax });
    const held = await memory.enter(1, 1);
    await nextTurn();
    const arrived = outside.ask().then(() => held?.leave());
    const entered = memory.enter(2, 1);
    outside.standStill(2 * waitMsMax);
    expect(await entered).to.not.equal(undefined);
    await arrived;
  });
});
