import { expect } from 'chai';
import fc from 'fast-check';
import type { Database } from '../../shared/database/connect.js';
import { checkLedger } from '../../shared/database/ledger-check.js';
import { checkLists } from '../../shared/database/list-check.js';
import { counting } from '../support/long-run/counting.js';
import { connectForTest } from '../support/database/database.js';
import { createDice } from '../support/dice.js';
import { request } from '../support/http/http.js';
import type { Asked } from '../support/http/http.js';
import { isLongRun, sizeOf } from '../support/long-run/long-run.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { raceCommand } from './model/race-command.js';
import { readCommands } from './model/read-commands.js';
import { updateCommand } from './model/update-command.js';
import { openWorld } from './model/world.js';
import { adjustCommand, repeatCommand, switchCommand } from './model/write-commands.js';

const size = sizeOf({ small: 100, long: 20_000 });
/** Commands of a run: up to twice as many as the mean of 30 that is asked for. */
const commandsMax = 60;
/** Runs side by side; a lone one would mostly wait. */
const lanes = isLongRun ? 8 : 4;

const { TEST_PATH: path, TEST_REPLAY: replayPath } = process.env;

const shopKind = fc.record({ allowNegative: fc.boolean(), defaultLocation: fc.constantFrom(true, true, false) });

/** One for each lane: it keeps what the replay of a failure needs. */
function sequence() {
  const adjusts = Array.from({ length: 5 }, () => adjustCommand);
  const others = [updateCommand, updateCommand, raceCommand, repeatCommand, switchCommand, ...readCommands];
  const replay = replayPath === undefined ? {} : { replayPath };
  return fc.commands([...adjusts, ...others], { maxCommands: commandsMax, size: 'max', ...replay });
}

describe('T2: the service beside a model of it', () => {
  let service: Service;
  let database: Database;
  before(async () => {
    service = await startService({ apis: 2 });
    database = connectForTest(service.databaseUrl, { poolMax: lanes });
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  it('answers any sequence of requests as the model does, to the last digit', async () => {
    const { seed } = createDice(
      'T2; a shrunk failure is repeated by TEST_SEED, TEST_PATH and TEST_REPLAY as it prints',
    );
    let requests = 0;
    const ask = (asked: Asked) => {
      requests += 1;
      return request(service.baseUrls[requests % service.baseUrls.length] ?? '', asked);
    };
    await counting({ test: 'T2', unit: 'runs', size }, async (count) => {
      const property = () =>
        fc.asyncProperty(shopKind, sequence(), async (kind, commands) => {
          if (count.left() === 0) return;
          const world = await openWorld({ database, ask }, kind);
          await fc.asyncModelRun(() => world, commands);
          count.add();
        });
      const numRuns = Math.ceil(size / lanes);
      const replay = path === undefined ? {} : { path };
      // All settled, so that none still runs when the service is stopped.
      const ends = await Promise.allSettled(
        Array.from({ length: path === undefined ? lanes : 1 }, (_, lane) =>
          fc.assert(property(), { seed: (seed + lane) | 0, numRuns, ...replay }),
        ),
      );
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
      expect((await checkLedger(database)).mismatches).to.deep.equal([]);
      expect((await checkLists(database)).mismatches).to.deep.equal([]);
      count.judged();
      return [{ name: 'requests', value: requests }];
    });
  });
});
