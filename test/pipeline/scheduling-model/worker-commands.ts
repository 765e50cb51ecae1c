import { expect } from 'chai';
import fc from 'fast-check';
import {
  advanceIn,
  giveBack,
  giveBackUncountedIn,
  leaseMs,
  readAdvanced,
  renewLeases,
  takeMaterials,
} from '../../../shared/queue/leases.js';
import type { HeldMaterial, WorkedMaterial } from '../../../shared/queue/leases.js';
import { keys } from '../../../shared/queue/names.js';
import { createBatch } from '../../../shared/redis/batch.js';
import { workedOff } from '../../support/redis/queue-harness.js';
import { finish, handOut, judgeHeld, keptMax, takenFrom, uncount } from './hand-out.js';
import type { Look } from './look.js';
import { expectTurns, jobsOf, shopOf } from './model.js';
import { at, command, serves, step, workerAt, workerCount } from './world.js';
import type { Command, Done, Worker, World } from './world.js';

const anyWorker = fc.nat(workerCount - 1);
const fullHouse = 32;
const anyRoom = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom(17, fullHouse));
const leftOutMs = 100;
const noneLater = 0;

const take = fc
  .tuple(anyWorker, anyRoom)
  .map(([index, room]) =>
    command(`worker ${String(index)} takes ${String(room)}`, (world) => takeAs(world, workerAt(world, index), room)),
  );

export async function takeAs(world: World, worker: Worker, room: number): Promise<void> {
  // As a lane does.
  if (worker.held.length > 0 || !serves(worker)) return;
  await step(world, async (before) => {
    // As the waker does.
    await world.servers.harness.redis.del(keys.wake);
    const { materials } = await takeMaterials(worker.redis, worker.presence, room);
    worker.held = materials;
    const taken = materials.map(({ queue }) => queue);
    handOut(world, worker, materials);
    expectTurns(world.model, before.lines, taken, room);
    return { touched: taken, judge: judgeTaken(world, before, before.lines, materials, room) };
  });
}

/** @param lines as they were when it was taken from them */
function judgeTaken(
  { model }: World,
  before: Look,
  lines: ReadonlyMap<string, string[]>,
  materials: HeldMaterial[],
  room: number,
) {
  const [token] = materials.map((material) => material.token);
  for (const { queue, token: own } of materials) {
    expect(takenFrom(before, queue), `${queue} was free`).to.equal(true);
    expect(own, 'a take has one token').to.equal(token);
    expect([...before.leases.values()], 'of its own').to.not.include(own);
  }
  if (model.isOrderly) {
    const waiting = [...lines.values()].flat().length;
    expect(materials.length, 'what is ready is taken, as far as there is room').to.equal(Math.min(room, waiting));
  }
  return judgeHeld(before, materials, leaseMs);
}

interface Step {
  /** How many jobs of each material are done; all, if that is more. */
  done: number;
  max: number;
  /** Every so manyth material is left out; none if 0. */
  leftOutEvery: number;
}

const advance = fc
  .record({
    index: anyWorker,
    done: fc.constantFrom(0, 1, Infinity, Infinity),
    max: fc.constantFrom(0, 2, fullHouse, fullHouse),
    leftOutEvery: fc.constantFrom(0, 0, 0, 1, 2),
  })
  .map(({ index, ...asked }) =>
    command(`worker ${String(index)} goes on: ${JSON.stringify(asked)}`, (world) =>
      advanceAs(world, workerAt(world, index), asked),
    ),
  );

/** As a cycle does, after its transactions. */
export async function advanceAs(world: World, worker: Worker, { done, max, leftOutEvery }: Step): Promise<void> {
  const { held } = worker;
  if (held.length === 0 || !serves(worker)) return;
  world.zombies.push(held);
  const leftOut = held.filter((_, index) => leftOutEvery > 0 && index % leftOutEvery === 0);
  const worked = held
    .filter((material) => !leftOut.includes(material))
    .map((each) => workedOff(each, Math.min(done, each.jobs.length)));
  await step(world, async (before) => {
    const batch = createBatch(worker.redis);
    giveBackUncountedIn(batch, leftOut, leftOutMs);
    const sent = advanceIn(batch, worker.presence, worked, max);
    const answers = await batch.send();
    for (const [error] of answers) expect(error).to.equal(null);
    const { materials, lost } = readAdvanced(sent, answers.at(-1)?.[1]);
    const givenBack = leaveOut(world, before, leftOut);
    // As in `leaveOut`: after a loss, one of these may stand in line, and be taken in this step.
    const seen = world.model.isOrderly ? before : withoutLeases(before, givenBack.touched);
    const next = judgeAdvanced(world, worker, seen, { worked, materials, lost, max });
    worker.held = materials;
    return {
      touched: [...givenBack.touched, ...next.touched],
      judge(after) {
        givenBack.judge?.(after);
        next.judge?.(after);
      },
    };
  });
  // A lane that ends.
  if (max === 0) await giveBackAs(world, worker, { delayMs: 0, delivery: 'uncounted' });
}

interface Advanced {
  worked: WorkedMaterial[];
  materials: HeldMaterial[];
  lost: number;
  max: number;
}

function judgeAdvanced(world: World, worker: Worker, before: Look, { worked, materials, lost, max }: Advanced): Done {
  const { model } = world;
  const own = worked.filter(({ queue, token }) => before.leases.get(queue) === token);
  expect(lost, 'leases that were lost').to.equal(worked.length - own.length);
  for (const { queue, finished } of own) finish(world, before, queue, finished);
  const busy = own.filter(({ queue }) => jobsOf(model, queue).length > 0);
  const isKept = ({ queue, token }: HeldMaterial) => busy.some((one) => one.queue === queue && one.token === token);
  const kept = materials.filter(isKept);
  const taken = materials.filter((material) => !isKept(material));
  // While others wait, what is beyond goes back in line, where this step may take it again.
  const othersWait = before.rotation.length > 0;
  expect(kept.length, 'what is kept').to.equal(othersWait ? Math.min(busy.length, keptMax) : busy.length);
  const back = busy.map(({ queue }) => queue).filter((queue) => !kept.some((material) => material.queue === queue));
  const lines = withInLine(before.lines, back);
  const room = max - kept.length;
  if (max > 0) handOut(world, worker, materials);
  else expect(materials.flatMap(({ jobs }) => jobs)).to.deep.equal([]);
  const takenNames = taken.map(({ queue }) => queue);
  if (room > 0) expectTurns(model, lines, takenNames, room);
  const judge = judgeTaken(world, withoutLeases(before, back), lines, taken, Math.max(0, room));
  return {
    touched: [...own.map(({ queue }) => queue), ...takenNames],
    judge(after) {
      judge(after);
      judgeHeld(before, kept, leaseMs)(after);
      for (const { queue } of own.filter((one) => !busy.includes(one)))
        expect(after.scheduled.has(queue) || after.leases.has(queue), `${queue} is idle`).to.equal(false);
      for (const queue of back) expect(after.scheduled.has(queue), `${queue} is back in line`).to.equal(true);
    },
  };
}

function withoutLeases(before: Look, released: Iterable<string>): Look {
  const leases = new Map(before.leases);
  for (const queue of released) leases.delete(queue);
  return { ...before, leases };
}

function withInLine(lines: ReadonlyMap<string, string[]>, back: string[]): Map<string, string[]> {
  const all = new Map([...lines].map(([shop, line]) => [shop, [...line]]));
  for (const queue of back) {
    const shop = shopOf(queue);
    all.set(shop, [...(all.get(shop) ?? []), queue]);
  }
  return all;
}

const giveAllBack = fc
  .record({
    index: anyWorker,
    delayMs: fc.constantFrom(noneLater, 250),
    delivery: fc.constantFrom('counted' as const, 'uncounted' as const),
  })
  .map(({ index, ...how }) =>
    command(`worker ${String(index)} gives all back: ${JSON.stringify(how)}`, (world) =>
      giveBackAs(world, workerAt(world, index), how),
    ),
  );

interface GiveBack {
  delayMs: number;
  delivery: 'counted' | 'uncounted';
}

async function giveBackAs(world: World, worker: Worker, { delayMs, delivery }: GiveBack): Promise<void> {
  const { held } = worker;
  if (held.length === 0) return;
  world.zombies.push(held);
  worker.held = [];
  await step(world, async (before) => {
    await giveBack(worker.redis, held, delayMs, delivery);
    if (delayMs > 0) return leaveOut(world, before, held, { delayMs, delivery });
    const own = held.filter(({ queue, token }) => before.leases.get(queue) === token).map(({ queue }) => queue);
    if (delivery === 'uncounted') for (const queue of own) uncount(world, before, queue);
    return {
      touched: own,
      judge(after) {
        for (const queue of own) {
          expect(after.leases.has(queue), `the lease of ${queue}`).to.equal(false);
          expect(after.queues.get(queue)?.activeCount).to.equal(0);
        }
      },
    };
  });
}

/** Gives back for later. */
function leaveOut(
  world: World,
  before: Look,
  leftOut: HeldMaterial[],
  { delayMs, delivery }: GiveBack = { delayMs: leftOutMs, delivery: 'uncounted' },
): Done {
  const own = leftOut.filter(({ queue, token }) => before.leases.get(queue) === token).map(({ queue }) => queue);
  for (const queue of own) {
    if (delivery === 'uncounted') uncount(world, before, queue);
    world.model.delayed.add(queue);
  }
  return {
    touched: own,
    judge(after) {
      for (const queue of own) {
        // What stands in line all the same, as after a loss, may have been taken at once.
        if (!world.model.isOrderly && after.leases.has(queue)) continue;
        expect(after.leases.has(queue), `the lease of ${queue}`).to.equal(false);
        expect(after.scheduled.get(queue)).to.be.within(before.nowMs + delayMs, after.nowMs + delayMs);
      }
    },
  };
}

const renew = anyWorker.map((index) =>
  command(`worker ${String(index)} renews`, async (world) => {
    const { held, redis } = workerAt(world, index);
    if (held.length === 0) return;
    await step(world, async (before) => {
      await renewLeases(redis, held);
      const own = held.filter(({ queue, token }) => before.leases.get(queue) === token);
      return { touched: own.map(({ queue }) => queue), judge: judgeHeld(before, own, leaseMs) };
    });
  }),
);

/** A call of somebody who has lost what it names, and has not noticed. */
const zombie = fc
  .tuple(fc.nat(), fc.constantFrom('renews', 'gives back', 'gives back uncounted', 'gives back for later', 'goes on'))
  .map(([index, what]) =>
    command(`zombie ${String(index)} ${what}`, async (world) => {
      const { redis } = world.servers.harness;
      const all = at(world.zombies, index) ?? [];
      await step(world, async (before) => {
        const lost = all.filter(({ queue, token }) => before.leases.get(queue) !== token);
        if (what === 'renews') await renewLeases(redis, lost);
        else if (what === 'goes on')
          expect(await world.servers.harness.advance(lost.map((each) => workedOff(each)))).to.include({
            lost: lost.length,
          });
        else
          await giveBack(
            redis,
            lost,
            what.endsWith('later') ? 250 : 0,
            what.endsWith('uncounted') ? 'uncounted' : 'counted',
          );
        return { touched: [] };
      });
    }),
  );

export const workerCommands: fc.Arbitrary<Command>[] = [
  take,
  take,
  take,
  advance,
  advance,
  advance,
  giveAllBack,
  renew,
  zombie,
];
