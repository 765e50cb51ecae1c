import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { jobVersion, operationsJob } from '../../shared/queue/job-format.js';
import { keys, queueName, queuePrefix } from '../../shared/queue/names.js';
import { startLane } from '../../worker/lane.js';
import { databaseWhose, depsOf, sessionWhose, wakeful } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { operationOf } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';

const soonMsMax = 15_000;
const withCode = (code: string) => Object.assign(new Error('from Postgres, or from the socket'), { code });

describe('a lane that gives its jobs back because of Postgres', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };

  /** How often a session was asked for. */
  let asked: number;
  beforeEach(() => (asked = 0));

  /** Runs a lane until it has given its jobs back, once. */
  async function runUntilFault(database: Database): Promise<void> {
    let isFaulted = false;
    const metrics = { ...createWorkerMetrics(), faulted: () => void (isFaulted = true) };
    const lane = startLane(await depsOf(harness, { database, metrics }), wakeful);
    await until(() => isFaulted, { deadlineMs: soonMsMax, what: 'the fault' });
    lane.stop();
    await lane.done;
  }

  const failing = (code: string) => sessionWhose(() => Promise.reject(withCode(code)));
  const postgresThat: [what: string, session: () => Promise<never>, counted: '0' | '1'][] = [
    ['refuses everybody', () => Promise.resolve(failing('53100')), '0'],
    ['fails a transaction', () => Promise.resolve(failing('40P01')), '1'],
    ['ends its session at work', () => Promise.resolve(failing('57P02')), '1'],
    ['has no session for it', () => Promise.reject(withCode('ECONNREFUSED')), '0'],
    ['accepts it, and closes before there is a session', () => Promise.reject(new Error('Connection terminated')), '0'],
    [
      'ends its session at work, and has no other then',
      () => (asked === 1 ? Promise.resolve(failing('57P02')) : Promise.reject(withCode('ECONNREFUSED'))),
      '1',
    ],
  ];
  for (const [what, session, counted] of postgresThat) {
    it(`counts ${counted === '1' ? 'a' : 'no'} delivery of them where it ${what}`, async () => {
      const job = await harness.add(ref, {
        operations: [operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] })],
      });
      const database: Database = databaseWhose(() => {
        asked += 1;
        return session();
      });
      await runUntilFault(database);
      expect(await harness.jobs(ref, 'wait')).to.deep.equal([job]);
      expect(await harness.redis.hlen(keys.leases)).to.equal(0);
      expect(await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${job}`, 'ats')).to.equal(counted);
    });
  }

  it('counts no delivery of them where it is away as others are to be recorded as failed', async () => {
    const exhausted = { ...ref, materialId: 'VMAT-VAR-b' };
    const operations = [operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] })];
    await harness.add(exhausted, { job: { ...operationsJob('test', operations), version: jobVersion + 1 } });
    const job = await harness.add(ref, { operations });
    const away = () => Promise.reject(withCode('ECONNREFUSED'));
    const database = Object.assign(databaseWhose(away), { transaction: away });
    await runUntilFault(database);
    expect(await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${job}`, 'ats')).to.equal('0');
  });
});
