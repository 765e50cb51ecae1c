import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { announceQueued, enqueueJobs } from '../../../api/dispatch/enqueue.js';
import type { Waiter } from '../../../api/dispatch/waiter.js';
import { jobVersion } from '../../../shared/queue/job-format.js';
import { queueName } from '../../../shared/queue/names.js';
import { addScript } from '../../../shared/queue/run-script.js';
import type { Look } from './look.js';
import { jobsOf, newJob } from './model.js';
import { anyMaterial, apiCount, at, command, refs, step } from './world.js';
import type { Command, OpenJob, World } from './world.js';

const anyApi = fc.nat(apiCount - 1);
const anyMaterials = fc.uniqueArray(anyMaterial, { minLength: 1, maxLength: 4 });

const add = fc.tuple(anyApi, anyMaterials).map(([api, materials]) =>
  command(`API ${String(api)} adds to ${materials.join(', ')}`, (world) =>
    send(
      world,
      materials.map((index) => formJob(world, api, index)),
    ),
  ),
);

/** To every material at once, so that there is more than a lane keeps. */
const flood = anyApi.map((api) =>
  command(`API ${String(api)} floods`, (world) =>
    send(
      world,
      refs.map((_, index) => formJob(world, api, index)),
    ),
  ),
);

/** More jobs of one material than are handed out at once, after two of these. */
const burst = fc.tuple(anyApi, anyMaterial).map(([api, index]) =>
  command(`API ${String(api)} adds many to ${String(index)}`, (world) =>
    send(
      world,
      Array.from({ length: 40 }, () => formJob(world, api, index)),
    ),
  ),
);

const addAgain = fc.nat().map((index) =>
  command(`the open job ${String(index)} is added again`, (world) => {
    const job = at([...world.open.values()], index);
    return job === undefined ? Promise.resolve() : send(world, [job]);
  }),
);

/** As a job that came by itself, without what is sent with it, or one of a later version. */
const addOddly = fc.tuple(anyMaterial, fc.boolean()).map(([index, isAnnounced]) =>
  command(`a job of another version for ${String(index)}${isAnnounced ? '' : ', not announced'}`, (world) => {
    const job = formJob(world, 0, index, jobVersion + 1);
    return send(world, [job], isAnnounced);
  }),
);

const announceOnly = anyMaterial.map((index) =>
  command(`${String(index)} is announced, twice`, async (world) => {
    const { harness } = world.servers;
    const ref = refs[index];
    if (ref === undefined) return;
    for (let time = 0; time < 2; time += 1) {
      await step(world, async (before) => {
        const queue = queueName(ref);
        const isNew = !before.scheduled.has(queue);
        expect(time === 1 && isNew, 'an announcement holds').to.equal(false);
        expect(await harness.announce(ref)).to.equal(isNew ? 1 : 0);
        return announced(world, before, [queue]);
      });
    }
  }),
);

const lookUp = anyApi.map((api) => command(`API ${String(api)} looks its jobs up`, (world) => lookUpAll(world, api)));

/** As the follow-up does for all whose reply is late. */
export async function lookUpAll(world: World, api: number): Promise<void> {
  const link = world.servers.apis[api];
  const jobs = [...world.open.values()].filter((job) => job.api === api);
  if (link === undefined || jobs.length === 0) return;
  let missing: OpenJob[] = [];
  await step(world, async (before) => {
    const lost = new Set(jobs.filter((job) => !stands(world, job)).map(({ id }) => id));
    missing = (await announceQueued(link, jobs)).missing as OpenJob[];
    expect(
      missing.map(({ id }) => id),
      'jobs that are lost',
    ).to.deep.equal([...lost]);
    return announced(
      world,
      before,
      jobs.filter(({ id }) => !lost.has(id)).map(({ ref }) => queueName(ref)),
    );
  });
  for (const job of missing) await send(world, [job]);
}

export const apiCommands: fc.Arbitrary<Command>[] = [
  add,
  add,
  add,
  addAgain,
  announceOnly,
  lookUp,
  flood,
  burst,
  addOddly,
];

function formJob(world: World, api: number, index: number, version = jobVersion): OpenJob {
  const ref = refs[index];
  if (ref === undefined) throw new RangeError(`no material ${String(index)}`);
  const database = api === 0 ? 'ours' : 'theirs';
  const formed = { id: randomUUID(), ref, open: new Set<Waiter>(), formedMs: performance.now() };
  const job: OpenJob = { ...formed, api, content: { database, version } };
  world.open.set(job.id, job);
  world.contents.set(job.id, job.content);
  return job;
}

/** Whether Redis has the hash of a job, by which alone it knows it again. */
function stands({ model }: World, { id, ref }: OpenJob): boolean {
  const queue = queueName(ref);
  const isQueued = jobsOf(model, queue).some((job) => job.id === id && job.deliveries !== undefined);
  return isQueued || model.orphans.has(`${queue}:${id}`);
}

async function send(world: World, jobs: OpenJob[], isAnnounced = true): Promise<void> {
  const { model } = world;
  await step(world, async (before) => {
    for (const job of jobs) {
      if (stands(world, job)) continue;
      // Where its hash alone was lost, its place stays: then it stands there twice, with one hash.
      const queued = jobsOf(model, queueName(job.ref));
      const twin = queued.find(({ id }) => id === job.id);
      queued.push(twin === undefined ? newJob(job.id) : Object.assign(twin, newJob(job.id)));
    }
    await deliver(world, jobs, isAnnounced);
    const names = jobs.map(({ ref }) => queueName(ref));
    if (isAnnounced) return announced(world, before, names);
    for (const name of names) if (!before.scheduled.has(name)) model.unannounced.add(name);
    return { touched: names };
  });
}

/** By our own code, where that would send them so: its transactions have one job of a material, of this version. */
async function deliver({ servers }: World, jobs: OpenJob[], isAnnounced: boolean): Promise<void> {
  const [{ api, content } = { api: 0, content: { version: jobVersion, database: '' } }] = jobs;
  const link = servers.apis[api];
  if (link === undefined) throw new RangeError(`no API ${String(api)}`);
  const names = new Set(jobs.map(({ ref }) => queueName(ref)));
  if (content.version === jobVersion && names.size === jobs.length) {
    expect(await enqueueJobs(link, jobs, content.database)).to.equal('queued');
    return;
  }
  const transaction = link.transaction();
  for (const { ref, id } of jobs)
    link.queues.addIn(transaction, ref, id, { ...content, replyTo: link.apiId, operations: [] });
  if (isAnnounced) addScript(transaction, 'rmAnnounce', ...names);
  for (const [error] of await transaction.exec()) expect(error).to.equal(null);
}

/** What was announced is announced; who has it already keeps it, and its deadline. */
function announced({ model }: World, before: Look, names: string[]) {
  for (const name of names) model.unannounced.delete(name);
  return {
    touched: names,
    judge(after: Look) {
      for (const name of names) {
        expect(after.leases.get(name)).to.equal(before.leases.get(name));
        if (before.scheduled.has(name)) expect(after.scheduled.get(name)).to.equal(before.scheduled.get(name));
        else expect(after.scheduled.get(name)).to.be.within(before.nowMs + 4_000, after.nowMs + 4_000);
      }
    },
  };
}
