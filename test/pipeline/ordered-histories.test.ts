import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { counting } from '../support/long-run/counting.js';
import { createDice } from '../support/dice.js';
import { countStatuses, refusalsOf } from '../support/history/history.js';
import { checkHistory } from '../support/history/ledger-checker.js';
import { startRecordedLoad } from '../support/history/recorded-load.js';
import { isLongRun, sizeOf } from '../support/long-run/long-run.js';
import { watchRefusals } from '../support/http/refusals.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';

const clients = 16;
const requestsAClient = isLongRun ? 200 : 25;
/** Few, so that clients meet each other on every one. */
const materials = 2;

describe('T11: histories of 16 clients over two API and two worker processes', () => {
  let service: Service;
  let database: Database;
  useService({ apis: 2, workers: 2 }, (started) => ({ service, database } = started));

  it('have an order that agrees with every answer, every read and real time', async () => {
    const dice = createDice('T11');
    const size = sizeOf({ small: 20, long: 1_000 });
    const expectNoRefusal = watchRefusals();
    let [changes, refusals, reads] = [0, 0, 0];
    await counting({ test: 'T11', unit: 'histories', size }, async (count) => {
      while (count.left() > 0) {
        const shop = await createTestShop(database, { materials });
        const baseUrls = () => service.baseUrls;
        const asked = { clients, keyed: false, repeatsRefused: true, readPercent: 20, requestsAClient };
        const load = startRecordedLoad({ baseUrls, shop, dice, ...asked });
        await load.ended;
        const verdict = await checkHistory(database, shop, load.history);
        expect(verdict.faults.join('\n'), `TEST_SEED=${String(dice.seed)}`).to.equal('');
        const { '503': refused = 0, ...executed } = countStatuses(load.history);
        // What was refused was sent again until it was executed.
        expectNoRefusal(refused, refusalsOf(load.history));
        expect(['200', '400', '404'], 'every other answer is of an execution').to.include.members(
          Object.keys(executed),
        );
        changes += load.history.intents.length;
        refusals += refused;
        reads += load.history.reads.length;
        count.add();
        count.judged();
      }
      return [
        { name: 'changes', value: changes },
        { name: 'refusals', value: refusals },
        { name: 'reads', value: reads },
      ];
    });
  });
});
