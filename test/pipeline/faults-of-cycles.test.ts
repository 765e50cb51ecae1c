import { expect } from 'chai';
import { pino } from 'pino';
import { createCycleFaults } from '../../worker/cycle-faults.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { startLane } from '../../worker/lane.js';
import { useDatabase } from '../support/database/database.js';
import { depsOf, wakeful } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 30_000;
const again = 'A transaction met a passing fault and runs again.';
const givenUp = 'A cycle was given up and is tried again.';

describe('a fault that all lanes of a worker meet in each cycle', () => {
  const harness = useQueueHarness();
  const postgres = useDatabase({ poolMax: 4, pipeline: true });

  it('is said once, and so is another that comes while it lasts; once cycles commit, that it is over', async () => {
    const { database } = postgres;
    const onInsert = (what: string) =>
      database.raw(`CREATE OR REPLACE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${what}; END $$`);
    const refuse = (reason: string) => onInsert(`RAISE EXCEPTION '${reason}' USING ERRCODE = '42501'`);
    await refuse('not now');
    await database.raw('CREATE TRIGGER guard BEFORE INSERT ON operations FOR EACH ROW EXECUTE FUNCTION guard()');
    const shop = await createTestShop(database, { materials: 2 });
    for (const materialId of shop.materialIds) {
      const operations = [operationOf({ kind: 'adjust', rows: [{ locationId: shop.locationIds[0] ?? '', delta: 1 }] })];
      await harness.add({ shopId: shop.shopId, materialId }, { operations });
    }
    const said: [msg: string, reason: string | undefined][] = [];
    const write = (line: string) => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
      said.push([msg, err?.message]);
    };
    let faults = 0;
    const metrics = { ...createWorkerMetrics(), faulted: () => void (faults += 1) };
    const logger = pino({}, { write });
    const deps = await depsOf(harness, { database, metrics, logger, faults: createCycleFaults(logger, 100) });
    const moreFaults = async () => {
      const before = faults;
      const areThere = async () => (await harness.sweep(), faults >= before + 5);
      await until(areThere, { deadlineMs: soonMsMax, what: 'five cycles to be given up' });
    };
    const lanes = [startLane(deps, wakeful), startLane(deps, wakeful)];
    try {
      await moreFaults();
      expect(said.splice(0)).to.deep.equal([again, givenUp].map((msg) => [msg, 'not now']));
      await refuse('not like this');
      await moreFaults();
      expect(said.splice(0)).to.have.deep.members([again, givenUp].map((msg) => [msg, 'not like this']));
      await onInsert('RETURN NEW');
      const areOver = async () => (await harness.sweep(), said.length >= 2);
      await until(areOver, { deadlineMs: soonMsMax, what: 'the end to be said' });
      expect(said).to.have.deep.members([again, givenUp].map((msg) => [`This is over: ${msg}`, undefined]));
    } finally {
      for (const lane of lanes) lane.stop();
      await Promise.all(lanes.map(({ done }) => done));
    }
  });
});
