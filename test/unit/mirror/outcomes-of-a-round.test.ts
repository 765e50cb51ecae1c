import { expect } from 'chai';
import { syncProblemMessages } from '../../../shared/mirror/sync-problems.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { startMirrorRounds } from '../../../worker/mirror-rounds.js';
import { useDatabase } from '../../support/database/database.js';
import { slowClock } from '../../support/time/slow-clock.js';
import type { SlowClock } from '../../support/time/slow-clock.js';
import { until } from '../../support/time/until.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onLocations, onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, expectLocations } from './fixtures.js';

const interrupted = 'A platform mirror was interrupted; it goes on where it stands.';

describe('what the log says of the shops of a round', () => {
  shutNetwork();
  const postgres = useDatabase();
  let clock: SlowClock;
  beforeEach(() => (clock = slowClock(1_000)));
  afterEach(async () => {
    clock.restore();
    // Each test's shops are its own: the round of the next must find none that is due.
    await postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL');
  });

  function startRound() {
    const told: [level: string, fields: object, message: string][] = [];
    const logger = Object.fromEntries(
      ['info', 'warn', 'error'].map((level) => [
        level,
        (fields: object, message: string) => told.push([level, fields, message]),
      ]),
    ) as unknown as Logger;
    return { rounds: startMirrorRounds({ ...createSync(postgres.database).deps, everyMs: 3_600_000, logger }), told };
  }
  const idsOfShops = async (count: number) => {
    const ids: number[] = [];
    while (ids.length < count) ids.push((await createConnectedShop(postgres.database)).id);
    return ids;
  };

  it('is why it could not be brought in, and where one stands that a stop has interrupted', async () => {
    const [refused, stopped] = await idsOfShops(2);
    let stop: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (stop = resolve));
    onLocations(null).reply(401, '');
    expectLocations();
    onVariants(null).reply(200, async () => {
      stop();
      // The round gives this page up as soon as it is stopped.
      return new Promise(() => undefined);
    });
    const { rounds, told } = startRound();
    await asked;
    await rounds.stop();
    expect(told).to.deep.equal([
      ['warn', { shopId: refused, problem: 'unauthorized', pages: 0 }, syncProblemMessages.unauthorized],
      ['info', { shopId: stopped, pages: 1 }, interrupted],
    ]);
  });

  it('is that one whose turn takes longer than two minutes lets the others go first', async () => {
    const [large, small] = await idsOfShops(2);
    expectLocations();
    onVariants(null).reply(200, () => {
      clock.advance(120_000);
      expectLocations();
      onVariants(null).reply(200, variantsReply([]));
      return variantsReply([variantNode(1)], 'v1');
    });
    const { rounds, told } = startRound();
    await until(() => told.length === 2, { what: 'two turns', deadlineMs: 30_000 });
    await rounds.stop();
    expect(told.map(([, fields, message]) => [fields, message])).to.deep.equal([
      [{ shopId: large, pages: 2 }, interrupted],
      [told[1]?.[1], 'A platform was mirrored.'],
    ]);
    expect(told[1]?.[1]).to.include({ shopId: small });
  });
});
