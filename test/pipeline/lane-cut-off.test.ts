import { expect } from 'chai';
import { pino } from 'pino';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import type { WorkerPresence } from '../../shared/queue/worker-presence.js';
import { createCycleFaults } from '../../worker/cycle-faults.js';
import type { CycleFaults } from '../../worker/cycle-faults.js';
import { startLane } from '../../worker/lane.js';
import type { Lane } from '../../worker/lane.js';
import { answerOfMigrated, databaseWhose, depsOf, wakeful } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;

describe('a lane that gets no session of Postgres', () => {
  const harness = useQueueHarness();
  const now = performance.now.bind(performance);
  let lane: Lane | undefined;
  afterEach(async () => {
    performance.now = now;
    lane?.stop();
    await lane?.done;
  });

  let living: WorkerPresence;
  before(async () => (living = await createWorkerPresence(harness.redis)));

  /** What the lane has told of its worker, after three more tries ten seconds later; more is added as it tells it. */
  async function toldOf(
    lastUseMs: () => number,
    {
      isFull = () => true,
      answer = () => Promise.resolve(),
    }: { isFull?: () => boolean; answer?: () => Promise<void> } = {},
  ): Promise<boolean[]> {
    const told: boolean[] = [];
    let tries = 0;
    const full = Object.assign(new Error('too many connections'), { code: '53300' });
    const database = Object.assign(
      databaseWhose(() => Promise.reject(full)),
      { raw: (sql: string) => (isFull() ? Promise.reject(full) : answerOfMigrated(sql)) },
    );
    const presence = {
      ...living,
      assertServes: () => (tries += 1),
      tellCutOff: (isCutOff: boolean) => {
        told.push(isCutOff);
        return answer();
      },
    };
    const faults = { ...createCycleFaults(pino({ level: 'silent' })), lastUseMs };
    lane = startLane(await depsOf(harness, { database, presence, faults }), wakeful);
    await until(() => tries > 2, { deadlineMs: soonMsMax, what: 'the lane to ask again' });
    expect(told, 'it waits before it tells').to.deep.equal([]);
    performance.now = () => now() + 10_000;
    const before = tries;
    await until(() => tries > before + 3, { deadlineMs: soonMsMax, what: 'the lane to go on asking' });
    return told;
  }
  const untilTakenBack = (told: boolean[]) =>
    until(() => told.includes(false), { deadlineMs: soonMsMax, what: 'the lane to take it back' });

  it('tells that its worker is cut off, where no lane of it has committed meanwhile', async () => {
    expect(await toldOf(() => -Infinity)).to.include(true);
  });

  it('goes on asking where nobody can be told', async () => {
    const told = await toldOf(() => -Infinity, { answer: () => Promise.reject(new Error('Connection is closed.')) });
    expect(told).to.include(true);
  });

  it('takes that back once it has a session again', async () => {
    let isFull = true;
    const told = await toldOf(() => -Infinity, { isFull: () => isFull });
    expect(told).to.not.include(false);
    isFull = false;
    await untilTakenBack(told);
  });

  it('tells nothing while another lane of the worker commits', async () => {
    expect(await toldOf(() => performance.now())).to.deep.equal([]);
  });

  for (const [what, use] of [
    ['has committed', ({ committed }: CycleFaults) => committed()],
    ['was let write', ({ waits }: CycleFaults) => waits.passed()],
  ] as const) {
    it(`takes that back once another lane of the worker ${what}`, async () => {
      const faults = createCycleFaults(pino({ level: 'silent' }));
      const told = await toldOf(faults.lastUseMs);
      expect(told).to.not.include(false);
      use(faults);
      await untilTakenBack(told);
    });
  }
});
