import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { createDice } from '../support/dice.js';
import { countStatuses, refusalsOf } from '../support/history/history.js';
import { checkHistory } from '../support/history/ledger-checker.js';
import { startRecordedLoad } from '../support/history/recorded-load.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { watchRefusals } from '../support/http/refusals.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const changesMin = 4_000;
const enoughMsMax = 40_000;

describe('two API processes, two worker processes, 64 clients, one material', () => {
  let service: Service;
  let database: Database;
  useService({ apis: 2, workers: 2 }, (started) => ({ service, database } = started));

  for (const allowNegative of [false, true]) {
    const setting = allowNegative ? 'may be negative' : 'stop at zero';
    it(`end exactly where the acknowledged changes lead, in their order, where levels ${setting}`, async () => {
      const shop = await createTestShop(database, { allowNegative });
      const dice = createDice(`mixed load, levels ${setting}`);
      const expectNoRefusal = watchRefusals();
      const asked = { clients: 64, keyed: false, repeatsRefused: true };
      const load = startRecordedLoad({ baseUrls: () => service.baseUrls, shop, dice, ...asked });
      await until(() => load.executed() >= changesMin / 2, { deadlineMs: enoughMsMax, what: 'thousands of changes' });
      await load.finish();
      const { '503': refused = 0, ...executed } = countStatuses(load.history);
      // What was refused was sent again until it was executed.
      expectNoRefusal(refused, refusalsOf(load.history));
      expect(executed, 'every other answer is of an execution').to.have.all.keys('200', '400', '404');
      expect(load.history.reads.length).to.be.greaterThan(0);
      const verdict = await checkHistory(database, { ...shop, allowNegative }, load.history);
      expect(verdict.faults.join('\n')).to.equal('');
      expect(verdict.operations).to.be.greaterThan(changesMin / 3);
    });
  }

  it('leave no key of an idle material in Redis', async () => {
    await until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
      deadlineMs: 5_000,
      what: 'the keys of materials to be gone',
    });
  });
});
