import fc from 'fast-check';
import { counting } from '../support/long-run/counting.js';
import { createDice } from '../support/dice.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { apiCommands } from './scheduling-model/api-commands.js';
import { drain } from './scheduling-model/drain.js';
import { faultCommands } from './scheduling-model/fault-commands.js';
import { workerCommands } from './scheduling-model/worker-commands.js';
import { openServers, openWorld } from './scheduling-model/world.js';
import type { Servers } from './scheduling-model/world.js';

const size = sizeOf({ small: 12, long: 3_000 });
/** Commands of a run: up to twice as many as the mean of 40. */
const commandsMax = 80;

const { TEST_PATH: path, TEST_REPLAY: replayPath } = process.env;

describe('T20: the scheduling in Redis beside a model of it', () => {
  let redis: TestRedis;
  let servers: Servers;
  before(async () => {
    redis = await startTestRedis();
    servers = await openServers(redis.url);
  });
  after(async () => {
    servers.close();
    await redis.stop();
  });

  it('loses no job and no turn, keeps the order, and leaves no key, whatever APIs, workers and Redis do', async () => {
    const { seed } = createDice(
      'T20; a shrunk failure is repeated by TEST_SEED, TEST_PATH and TEST_REPLAY as it prints',
    );
    const replay = path === undefined ? {} : { path };
    const commands = fc.commands([...apiCommands, ...workerCommands, ...workerCommands, ...faultCommands], {
      maxCommands: commandsMax,
      size: 'max',
      ...(replayPath === undefined ? {} : { replayPath }),
    });
    await counting({ test: 'T20', unit: 'runs', size }, async (count) => {
      let [steps, unjudged] = [0, 0];
      const property = fc.asyncProperty(fc.boolean(), commands, async (losesKeys, sequence) => {
        if (count.left() === 0) return;
        const world = await openWorld(servers, losesKeys);
        await fc.asyncModelRun(() => ({ model: {}, real: world }), sequence);
        await drain(world);
        steps += world.commands;
        if (world.isStalled) unjudged += 1;
        count.add();
      });
      await fc.assert(property, { seed: seed | 0, numRuns: size, ...replay });
      count.judged();
      return [
        { name: 'commands', value: steps },
        { name: 'runs without a verdict', value: unjudged },
      ];
    });
  });
});
