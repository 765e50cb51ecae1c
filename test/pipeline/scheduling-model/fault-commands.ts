import { expect } from 'chai';
import fc from 'fast-check';
import { keys, queuePrefix } from '../../../shared/queue/names.js';
import { longAgo } from './look.js';
import type { Look } from './look.js';
import { emptyModel, jobsOf, shopOf } from './model.js';
import type { JobModel } from './model.js';
import { takeAs } from './worker-commands.js';
import { anyMaterial, command, queues, serves, startWorker, step, workerAt, workerCount } from './world.js';
import type { Command, World } from './world.js';

const anyWorker = fc.nat(workerCount - 1);
const hourMs = 3_600_000;
const takenMax = 4;

/** Instead of waiting: its lease, or its turn, or the time for which it was given back. */
const runOut = fc.tuple(anyMaterial, fc.constantFrom(false, false, false, true)).map(([index, isAhead]) =>
  command(`the time of ${String(index)} runs out${isAhead ? ', as the clock goes back' : ''}`, async (world) => {
    const queue = queues[index] ?? '';
    const { redis } = world.servers.harness;
    await step(world, async ({ nowMs }) => {
      await redis.zadd(keys.scheduled, 'XX', isAhead ? nowMs + hourMs : longAgo, queue);
      return { touched: [queue] };
    });
    await sweep(world);
  }),
);

export async function runAllOut(world: World): Promise<void> {
  const { redis } = world.servers.harness;
  await step(world, async ({ scheduled }) => {
    for (const queue of scheduled.keys()) await redis.zadd(keys.scheduled, 'XX', longAgo, queue);
    return { touched: queues };
  });
  await sweep(world);
}

async function sweep(world: World): Promise<void> {
  await step(world, async (before) => {
    const late = [...before.scheduled].filter(([, at]) => at <= before.nowMs || at > before.nowMs + 2 * 4_000);
    expect(await world.servers.harness.sweep(), 'how many are swept').to.equal(late.length);
    for (const [queue] of late) world.model.delayed.delete(queue);
    return freed(
      before,
      late.map(([queue]) => queue),
    );
  });
}

/** They are ready for anybody, from now on, and nobody's. */
function freed(before: Look, names: string[]) {
  return {
    touched: names,
    judge(after: Look) {
      for (const queue of names) {
        expect(after.leases.has(queue), `the lease of ${queue}`).to.equal(false);
        expect(after.scheduled.get(queue)).to.be.within(before.nowMs + 4_000, after.nowMs + 4_000);
      }
    },
  };
}

/** Of a process, with what it has just taken, or of its connection alone: then it goes on, and does not know yet. */
const lose = fc.tuple(anyWorker, fc.boolean(), fc.boolean()).map(([index, lives, isFound]) =>
  command(
    `worker ${String(index)} ${lives ? 'loses its connection' : 'dies'}${isFound ? ', as another finds' : ''}`,
    async (world) => {
      const { servers } = world;
      const worker = workerAt(world, index);
      await takeAs(world, worker, takenMax);
      await step(world, async () => {
        worker.redis.disconnect();
        await servers.harness.redis.client('KILL', 'ID', worker.id);
        world.gone.push(worker.id);
        if (!lives) world.zombies.push(worker.held);
        servers.workers[index] = {
          ...(await startWorker(servers.url, worker.database)),
          held: lives ? worker.held : [],
        };
        return { touched: [] };
      });
      if (isFound) await buryAs(world, (index + 1) % workerCount);
    },
  ),
);

const bury = anyWorker.map((index) =>
  command(`worker ${String(index)} looks for who is gone`, (world) => buryAs(world, index)),
);

async function buryAs(world: World, index: number): Promise<void> {
  const { presence } = workerAt(world, index);
  const { redis } = world.servers.harness;
  await step(world, async (before) => {
    const deadlines = world.gone.flatMap((id) => [before.nowMs + hourMs, id]);
    // Their last heartbeat has not lapsed, however long this run has taken.
    if (deadlines.length > 0) await redis.zadd(keys.workers, ...deadlines);
    await presence.buryGone();
    const theirs = [...before.leases].filter(([, token]) => world.gone.includes(token.slice(0, token.indexOf('.'))));
    return freed(
      before,
      theirs.map(([queue]) => queue),
    );
  });
  expect((await redis.zrange(keys.workers, '0', '-1')).filter((id) => world.gone.includes(id))).to.deep.equal([]);
}

/** Workers of one database at a time are listed, and serve. */
const beat = fc
  .tuple(anyWorker, fc.constantFrom(false, false, true))
  .map(([index, isAlone]) =>
    command(`worker ${String(index)} beats${isAlone ? ', after all others fell silent' : ''}`, (world) =>
      beatAs(world, index, isAlone),
    ),
  );

export async function beatAs(world: World, index: number, isAlone: boolean): Promise<void> {
  const worker = workerAt(world, index);
  const { redis } = world.servers.harness;
  if (isAlone) {
    for (const id of await redis.zrange(keys.workers, '0', '-1')) await redis.zadd(keys.workers, longAgo, id);
    for (const name of await redis.zrange(keys.databases, '0', '-1')) await redis.zadd(keys.databases, longAgo, name);
  }
  await step(world, async (before) => {
    const isShutOut = [...before.databases].some(([name, at]) => at > before.nowMs && name !== worker.database);
    await worker.presence.beat();
    expect(serves(worker), 'it serves').to.equal(!isShutOut);
    return {
      touched: [],
      judge(after) {
        expect(after.workers.has(worker.id), 'it is listed').to.equal(!isShutOut);
        const live = [...after.databases].filter(([, at]) => at > after.nowMs);
        expect(live.length, 'databases at a time').to.be.at.most(1);
      },
    };
  });
}

const flush = fc.constant(
  command('Redis is flushed', (world) =>
    step(world, async () => {
      await world.servers.harness.redis.flushall();
      world.model = emptyModel(queues);
      return { touched: queues };
    }),
  ),
);

const ofScheduling = ['scheduled', 'leases', 'since', 'ready', 'line', 'wake'] as const;
const ofQueue = ['wait', 'active', 'hash', 'meta', 'id', 'marker', 'events'] as const;

const loseKey = fc
  .tuple(fc.constantFrom(...ofScheduling, ...ofQueue), anyMaterial, fc.nat())
  .map(([what, index, job]) =>
    command(`Redis loses ${what} (${String(index)}, ${String(job)})`, async (world) => {
      if (!world.losesKeys) return;
      await step(world, async () => {
        const queue = queues[index] ?? '';
        const { redis } = world.servers.harness;
        const { model } = world;
        if (what === 'hash') await loseHash(world, queue, job);
        else if (isOfQueue(what)) {
          const activeCount = await redis.llen(`${queuePrefix}:${queue}:active`);
          await redis.del(`${queuePrefix}:${queue}:${what}`);
          if (what === 'wait') loseJobs(world, queue, activeCount, Infinity);
          if (what === 'active') loseJobs(world, queue, 0, activeCount);
        } else {
          const isThere = await redis.del(what === 'line' ? `${keys.ready}:${shopOf(queue)}` : keys[what]);
          if (isThere === 1) model.isOrderly = false;
        }
        return { touched: queues };
      });
    }),
  );

function isOfQueue(what: string): what is (typeof ofQueue)[number] {
  return (ofQueue as readonly string[]).includes(what);
}

async function loseHash(world: World, queue: string, index: number): Promise<void> {
  const jobs = jobsOf(world.model, queue);
  const job = jobs[index % Math.max(1, jobs.length)];
  if (job === undefined) return;
  await world.servers.harness.redis.del(`${queuePrefix}:${queue}:${job.id}`);
  Object.assign(job, { deliveries: undefined, isWhole: false } satisfies Partial<JobModel>);
}

/** With their list. Whoever waits for them is told so by the look-up only if their hashes are gone as well. */
function loseJobs({ model, open }: World, queue: string, from: number, count: number): void {
  const jobs = jobsOf(model, queue);
  for (const { id, deliveries } of jobs.splice(from, count)) {
    if (jobs.some((twin) => twin.id === id)) continue;
    if (deliveries === undefined) continue;
    model.orphans.add(`${queue}:${id}`);
    open.delete(id);
  }
}

/** What a back-up, or a replica that is behind, has. */
const save = fc.constant(
  command('Redis is saved', async (world) => {
    const { redis } = world.servers.harness;
    const names = (await redis.keys('*')).filter((key) => key !== keys.workers && key !== keys.databases);
    const dumps = await Promise.all(
      names.map(async (key): Promise<[string, Buffer]> => [key, await redis.dumpBuffer(key)]),
    );
    world.saved = { keys: dumps, model: structuredClone(world.model) };
  }),
);

const restore = fc.constant(
  command('Redis is restored', async (world) => {
    const { saved } = world;
    if (saved === undefined) return;
    await step(world, async () => {
      const transaction = world.servers.harness.redis.multi().flushall();
      for (const [key, dump] of saved.keys) transaction.restore(key, 0, dump);
      for (const [error] of (await transaction.exec()) ?? []) expect(error).to.equal(null);
      world.model = structuredClone(saved.model);
      return { touched: queues };
    });
  }),
);

export const faultCommands: fc.Arbitrary<Command>[] = [
  runOut,
  runOut,
  lose,
  bury,
  beat,
  flush,
  loseKey,
  loseKey,
  save,
  restore,
];
