import { expect } from 'chai';
import { jobVersion } from '../../../shared/queue/job-format.js';
import type { HeldMaterial } from '../../../shared/queue/leases.js';
import { readJobs } from '../../../worker/read-jobs.js';
import type { Look } from './look.js';
import { jobsOf } from './model.js';
import type { Worker, World } from './world.js';

/** Jobs handed out of one material at once (`leases.ts`). */
const jobsPerMaterialMax = 64;
/** Busy materials that a lane keeps while others wait (`advance-script.ts`). */
export const keptMax = 16;

/** Whether a take may take it: announced, and under no lease that runs. */
export function takenFrom({ scheduled, leases, nowMs }: Look, queue: string): boolean {
  const deadline = scheduled.get(queue);
  return deadline !== undefined && (!leases.has(queue) || deadline <= nowMs);
}

/** Whoever is given materials is given their next jobs in their order, each with the number of its delivery. */
export function handOut(world: World, { database, presence }: Worker, materials: HeldMaterial[]): void {
  for (const { queue, jobs } of materials) {
    const due = jobsOf(world.model, queue).slice(0, jobsPerMaterialMax);
    const expected = due.map((job) => {
      job.deliveries = (job.deliveries ?? 0) + 1;
      return { id: job.id, deliveries: job.deliveries, isWhole: job.isWhole };
    });
    const got = jobs.map(({ id, deliveries, data }) => ({ id, deliveries, isWhole: data !== '' }));
    expect(got, `what is handed out of ${queue}`).to.deep.equal(expected);
    world.model.delayed.delete(queue);
  }
  for (const { id, content, isMisdirected } of readJobs(materials, presence.databaseIdentity())) {
    const expected = world.contents.get(id);
    if (content === undefined) continue;
    const { version = jobVersion, database: meantFor = database } = expected ?? {};
    expect(content.version).to.equal(version);
    expect(isMisdirected, 'a job for another database is known as such').to.equal(meantFor !== database);
  }
}

/** Takes finished jobs out of the model; those that a lost or restored list does not have as handed out stay there. */
export function finish({ model, open }: World, before: Look, queue: string, finished: string[]): void {
  const jobs = jobsOf(model, queue);
  let { activeCount } = before.queues.get(queue) ?? { activeCount: 0 };
  for (const id of finished) {
    // The newest of twins goes first.
    const place = jobs
      .slice(0, activeCount)
      .map((job) => job.id)
      .lastIndexOf(id);
    if (place >= 0) {
      jobs.splice(place, 1);
      activeCount -= 1;
    }
    for (const twin of jobs) if (twin.id === id) Object.assign(twin, { deliveries: undefined, isWhole: false });
    model.orphans.delete(`${queue}:${id}`);
    open.delete(id);
  }
}

/** What was handed out, and not tried, does not count as delivered. */
export function uncount({ model }: World, before: Look, queue: string): void {
  const { activeCount } = before.queues.get(queue) ?? { activeCount: 0 };
  for (const job of jobsOf(model, queue).slice(0, activeCount)) job.deliveries = (job.deliveries ?? 0) - 1;
}

/** They are held from now on, and for a whole lease. */
export function judgeHeld(before: Look, held: Pick<HeldMaterial, 'queue' | 'token'>[], leaseMs: number) {
  return (after: Look): void => {
    for (const { queue, token } of held) {
      expect(after.leases.get(queue), `the owner of ${queue}`).to.equal(token);
      expect(after.scheduled.get(queue), `the lease of ${queue}`).to.be.within(
        before.nowMs + leaseMs,
        after.nowMs + leaseMs,
      );
    }
  };
}
