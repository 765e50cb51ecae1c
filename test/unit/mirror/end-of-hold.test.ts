import { mock } from 'node:test';
import { expect } from 'chai';
import { syncLeaseMs } from '../../../shared/database/platform-syncs.js';
import { useDatabase } from '../../support/database/database.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onLocations, onVariants, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, expectLocations } from './fixtures.js';

const renewEveryMs = syncLeaseMs / 3;

describe('a run of a mirror that is over', () => {
  shutNetwork();
  const postgres = useDatabase();
  afterEach(() => mock.restoreAll());

  /** The timers that renew a hold and were never ended. */
  function watchRenewals(): () => number {
    const set = mock.method(globalThis, 'setInterval').mock;
    const cleared = mock.method(globalThis, 'clearInterval').mock;
    return () => {
      const renewals = set.calls.filter(({ arguments: [, ms] }) => ms === renewEveryMs).map(({ result }) => result);
      expect(renewals).to.have.lengthOf(1);
      const ended = cleared.calls.map(({ arguments: [timer] }) => timer);
      return renewals.filter((timer) => !ended.includes(timer)).length;
    };
  }

  // A worker brings in thousands of shops an hour: each would ask Postgres every three seconds for ever.
  it('renews its hold no more, whatever became of it', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    const complete = watchRenewals();
    expectLocations();
    onVariants(null).reply(200, variantsReply([]));
    expect(await run(shop)).to.include({ status: 'complete' });
    expect(complete()).to.equal(0);
    mock.restoreAll();
    const failed = watchRenewals();
    onLocations(null).reply(401, '');
    expect(await run(shop)).to.include({ status: 'failed' });
    expect(failed()).to.equal(0);
  });
});
