import { expect } from 'chai';
import { startLane } from '../../worker/lane.js';
import { databaseWhose, depsOf, wakeful } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;
/** Of 200 ms, which no timer cuts by more than one. */
const pauseMsMin = 199;

describe('a lane that meets a fault', () => {
  const harness = useQueueHarness();

  it('pauses before it tries again, also where all that it asks for meanwhile is well', async () => {
    const triedAtMs: number[] = [];
    const redis = new Proxy(harness.redis, {
      get(target, name) {
        if (name !== 'rmAdvance') return Reflect.get(target, name) as unknown;
        triedAtMs.push(performance.now());
        return () => Promise.reject(new Error('NOPERM this user has no permissions to run the command'));
      },
    });
    const database = databaseWhose(() => Promise.reject(new Error('nothing is to be applied')));
    const lane = startLane(await depsOf(harness, { database, redis }), wakeful);
    await until(() => triedAtMs.length > 3, { deadlineMs: soonMsMax, what: 'three further tries' });
    lane.stop();
    await lane.done;
    const [first = 0, , , fourth = 0] = triedAtMs;
    expect(fourth - first).to.be.above(3 * pauseMsMin);
  });
});
