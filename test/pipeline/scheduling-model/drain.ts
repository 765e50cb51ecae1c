import { expect } from 'chai';
import { pipelineKeys } from '../../support/redis/redis-keys.js';
import { queuePrefix } from '../../../shared/queue/names.js';
import { lookUpAll } from './api-commands.js';
import { beatAs, runAllOut } from './fault-commands.js';
import { advanceAs, takeAs } from './worker-commands.js';
import { apiCount, refs, workerAt } from './world.js';
import type { World } from './world.js';

/** Rounds in which all time runs out once: a lost job is found in the first, and a lost place in line in the second. */
const roundsMax = 5;
/**
 * Before this one somebody announces every material, as with its next job: nobody waits for, and so looks up, what
 * stands there since before a restore. Not sooner: whose line was lost is put in line by a sweep that finds no line, so
 * not while others of its shop are announced all the time.
 */
const announcedRound = 3;
/** Cycles of one lane; each finishes at least a job. */
const cyclesMax = 10_000;

/**
 * The run's end: one worker lives, everybody who waits looks up, and all deadlines pass. Then every job has been handed
 * out in its order, and Redis has no key left.
 */
export async function drain(world: World): Promise<void> {
  const { servers } = world;
  for (const worker of servers.workers) world.zombies.push(worker.held.splice(0));
  await beatAs(world, 0, true);
  const worker = workerAt(world, 0);
  for (let round = 0; round < roundsMax; round += 1) {
    for (let api = 0; api < apiCount; api += 1) await lookUpAll(world, api);
    if (round === announcedRound) await announceAll(world);
    await runAllOut(world);
    for (let cycle = 0; cycle < cyclesMax && !world.isStalled; cycle += 1) {
      await takeAs(world, worker, 32);
      if (worker.held.length === 0) break;
      await advanceAs(world, worker, { done: Infinity, max: 32, leftOutEvery: 0 });
    }
    if (world.isStalled) return;
  }
  expect([...world.open.keys()], 'jobs that are lost').to.deep.equal([]);
  const left = (await pipelineKeys(servers.url)).map((key) => key.slice(queuePrefix.length + 1));
  expect(left.filter((key) => !world.model.orphans.has(key))).to.deep.equal([]);
}

async function announceAll({ servers, model }: World): Promise<void> {
  for (const ref of refs) await servers.harness.announce(ref);
  model.unannounced.clear();
}
