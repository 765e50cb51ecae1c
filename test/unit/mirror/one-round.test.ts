import { expect } from 'chai';
import { listSyncs } from '../../../shared/database/platform-syncs.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { startMirrorRounds } from '../../../worker/mirror-rounds.js';
import { useDatabase } from '../../support/database/database.js';
import { until } from '../../support/time/until.js';
import { shutNetwork } from '../platform/fixtures.js';
import { locationsReply, onLocations, onVariants, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, cutOffAtV1, expectLocations } from './fixtures.js';

describe('a round of mirrors', () => {
  shutNetwork();
  const postgres = useDatabase();
  // Each test's shops are its own: the round of the next must find none that is due.
  afterEach(() => postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL'));

  /** Starts rounds, of which the first begins at once, and collects of which shops they told what. */
  function startRound() {
    const told: [shopId: number, message: string][] = [];
    const tell = ({ shopId }: { shopId: number }, message: string) => told.push([shopId, message]);
    const logger = { info: tell, warn: tell, error: tell } as unknown as Logger;
    const rounds = startMirrorRounds({ ...createSync(postgres.database).deps, everyMs: 3_600_000, logger });
    return { rounds, told };
  }

  it('begins no other shop once it is stopped', async () => {
    const first = await createConnectedShop(postgres.database);
    await createConnectedShop(postgres.database);
    let stop: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (stop = resolve));
    onLocations(null).reply(200, async () => {
      stop();
      // The round gives this page up as soon as it is stopped.
      return new Promise(() => undefined);
    });
    const { rounds } = startRound();
    await asked;
    await rounds.stop();
    expect([...(await listSyncs(postgres.database)).keys()]).to.deep.equal([first.id]);
  });

  it('leaves a shop that another worker has brought in since it looked which are due', async () => {
    const { database } = postgres;
    const [first, second, third] = [
      await createConnectedShop(database),
      await createConnectedShop(database),
      await createConnectedShop(database),
    ];
    const other = createSync(database);
    const expectNoVariants = () => onVariants(null).reply(200, variantsReply([]));
    onLocations(null).reply(200, async () => {
      expectLocations();
      expectNoVariants();
      expect(await other.run(second)).to.include({ status: 'complete' });
      expectNoVariants();
      expectLocations();
      expectNoVariants();
      return locationsReply([]);
    });
    const { rounds, told } = startRound();
    await until(() => told.length === 2, { what: 'two shops to be brought in', deadlineMs: 30_000 });
    await rounds.stop();
    expect(told).to.deep.equal([first, third].map(({ id }) => [id, 'A platform was mirrored.']));
  });

  it('says so where it does not go on with a run that had got on: nobody else would tell', async () => {
    const { database } = postgres;
    const [old, refused, fresh] = [
      (await cutOffAtV1(database)).shop.id,
      (await cutOffAtV1(database)).shop.id,
      (await createConnectedShop(database)).id,
    ];
    await database.raw(
      `UPDATE platform_syncs SET attempted_at = now() - interval '2 hours',
         started_at = now() - interval '3 days',
         page_at = now() - make_interval(hours => CASE shop_id WHEN ? THEN 25 ELSE 2 END)`,
      [old],
    );
    onVariants('v1').reply(200, { data: null, errors: [{ message: 'no', extensions: { code: 'INVALID_CURSOR' } }] });
    for (let count = 0; count < 3; count += 1) {
      expectLocations();
      onVariants(null).reply(200, variantsReply([]));
    }
    const { rounds, told } = startRound();
    await until(() => told.length === 5, { what: 'three shops to be brought in', deadlineMs: 30_000 });
    await rounds.stop();
    const beginsAnew =
      'A platform mirror begins anew: its last page is a day old, or its platform does not go on there, or is another.';
    const mirrored = 'A platform was mirrored.';
    for (const shopId of [old, refused]) {
      expect(told.filter(([id]) => id === shopId)).to.deep.equal([
        [shopId, beginsAnew],
        [shopId, mirrored],
      ]);
    }
    expect(told.filter(([id]) => id === fresh)).to.deep.equal([[fresh, mirrored]]);
  });
});
