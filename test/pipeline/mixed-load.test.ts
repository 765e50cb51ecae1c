import { expect } from 'chai';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import { createDice } from '../support/dice.js';
import { countStatuses } from '../support/history.js';
import { checkHistory } from '../support/ledger-checker.js';
import { startLoad } from '../support/load.js';
import { pipelineKeys } from '../support/redis-keys.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { createTestShop } from '../support/shop.js';
import { until } from '../support/until.js';

const changesMin = 4_000;
const enoughMsMax = 40_000;

describe('two API processes, two worker processes, 64 clients, one material', () => {
  let service: Service;
  let database: Database;
  before(async () => {
    service = await startService({ apis: 2, workers: 2 });
    database = connectDatabase({ url: service.databaseUrl, poolMax: 2, applicationName: 'test' });
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  for (const allowNegative of [false, true]) {
    const setting = allowNegative ? 'may be negative' : 'stop at zero';
    it(`end exactly where the acknowledged changes lead, in their order, where levels ${setting}`, async () => {
      const shop = await createTestShop(database, { allowNegative });
      const dice = createDice(`mixed load, levels ${setting}`);
      const asked = { clients: 64, keyed: false, repeatsRefused: true };
      const load = startLoad({ baseUrls: () => service.baseUrls, shop, dice, ...asked });
      await until(() => load.executed() >= changesMin / 2, { deadlineMs: enoughMsMax, what: 'thousands of changes' });
      await load.finish();
      // A machine that stands still for seconds may refuse; what was refused was sent again until it was executed.
      const executed = Object.keys(countStatuses(load.history)).filter((status) => status !== '503');
      expect(executed, 'every other answer is of an execution').to.deep.equal(['200', '400', '404']);
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
