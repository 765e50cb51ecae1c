import { expect } from 'chai';
import { queuePrefix } from '../../../shared/queue/names.js';
import type { Look } from './look.js';

/** What must be in Redis, as far as it follows from what was done. */
export interface Model {
  /** By queue, the jobs that stand in it, in the order in which they are due. */
  jobs: Map<string, JobModel[]>;
  /** Hashes of jobs whose list Redis has lost: `queue:id`. Nothing of ours finds them. */
  orphans: Set<string>;
  /** Queues that got a job without an announcement. */
  unannounced: Set<string>;
  /** Queues that were given back for later. */
  delayed: Set<string>;
  /**
   * False once a key was lost: then who waits where no longer follows from what was done, and has to come right by
   * itself. No loss, the order of jobs and whose is what are judged all the same.
   */
  isOrderly: boolean;
  /** By shop that waits, what others were given since: see `expectTurns`. */
  passedOver: Map<string, Map<string, number>>;
}

export interface JobModel {
  id: string;
  /** Undefined once its hash is gone. */
  deliveries: number | undefined;
  /** Whether it still has its data. */
  isWhole: boolean;
}

export function emptyModel(queues: readonly string[]): Model {
  return {
    jobs: new Map(queues.map((queue) => [queue, []])),
    orphans: new Set(),
    unannounced: new Set(),
    delayed: new Set(),
    isOrderly: true,
    passedOver: new Map(),
  };
}

export const newJob = (id: string): JobModel => ({ id, deliveries: 0, isWhole: true });

export const shopOf = (queue: string): string => queue.slice(0, queue.indexOf('.'));

export function jobsOf({ jobs }: Model, queue: string): JobModel[] {
  const found = jobs.get(queue);
  if (found === undefined) throw new RangeError(`no queue of the model: ${queue}`);
  return found;
}

/** What holds after every command. */
export function expectInvariants(model: Model, look: Look): void {
  for (const [queue, { jobs, deliveries }] of look.queues) {
    const expected = jobsOf(model, queue);
    expect(jobs, `the jobs of ${queue} in their order`).to.deep.equal(expected.map(({ id }) => id));
    expect(deliveries, `the deliveries of ${queue}`).to.deep.equal(expected.map((job) => job.deliveries));
  }
  if (model.isOrderly) expectOrder(model, look);
}

function expectOrder(model: Model, look: Look): void {
  const { scheduled, leases, since, rotation, lines, queues } = look;
  for (const [queue, { jobs }] of queues) {
    // Nobody knows of one that was not announced, so nobody clears away what is left where Redis loses its jobs.
    const isKnown = !model.unannounced.has(queue);
    if (jobs.length > 0 && isKnown)
      expect(scheduled.has(queue), `${queue} has jobs, and somebody will look for them`).to.equal(true);
    if (jobs.length === 0 && isKnown && !scheduled.has(queue)) expectNoKey(model, look, queue);
    const places = (lines.get(shopOf(queue)) ?? []).filter((each) => each === queue).length;
    const isWaiting = scheduled.has(queue) && !leases.has(queue) && !model.delayed.has(queue);
    expect(places, `the places of ${queue} in line`).to.equal(isWaiting ? 1 : 0);
    expect(since.has(queue), `it is known since when ${queue} waits`).to.equal(isWaiting);
    if (leases.has(queue)) expect(scheduled.has(queue), `the lease of ${queue} ends`).to.equal(true);
    const deadline = scheduled.get(queue) ?? 0;
    // What a command has moved ahead, as a clock that went back leaves it, lies far beyond.
    if (deadline < look.nowMs + 50_000)
      expect(deadline, `the sweep comes to ${queue}`).to.be.at.most(look.nowMs + 4_000);
  }
  expect([...rotation].sort(), 'each shop with a line has one place in the rotation').to.deep.equal(
    [...lines.keys()].sort(),
  );
  if (rotation.length > 0) expect(look.wake, 'a lane is woken for what is ready').to.equal(1);
}

function expectNoKey({ orphans }: Model, { queueKeys }: Look, queue: string): void {
  const prefix = `${queuePrefix}:${queue}:`;
  const left = queueKeys.filter((key) => key.startsWith(prefix) && !orphans.has(key.slice(queuePrefix.length + 1)));
  expect(left, `the keys of ${queue}, which is idle`).to.deep.equal([]);
}

/** Nothing of a material that a command has nothing to do with may change. */
export function expectFrame(model: Model, before: Look, after: Look, touched: ReadonlySet<string>): void {
  for (const queue of before.queues.keys()) {
    if (touched.has(queue)) continue;
    expect(partOf(model, after, queue), `${queue}, which was not touched`).to.deep.equal(partOf(model, before, queue));
  }
}

function partOf({ isOrderly }: Model, look: Look, queue: string): unknown {
  const line = (look.lines.get(shopOf(queue)) ?? []).filter((each) => each === queue);
  return {
    ...look.queues.get(queue),
    deadline: look.scheduled.get(queue),
    token: look.leases.get(queue),
    // A take removes places of what is no longer ready.
    ...(isOrderly && { places: line.length, since: look.since.get(queue) }),
  };
}

/**
 * Shops take turns: a take with room for all gives each at least an equal part of it, and until a shop that waits is
 * given something, no other shop is given more than one material.
 */
export function expectTurns(model: Model, lines: ReadonlyMap<string, string[]>, taken: string[], room: number): void {
  if (!model.isOrderly) return;
  const counts = new Map<string, number>();
  for (const queue of taken) counts.set(shopOf(queue), (counts.get(shopOf(queue)) ?? 0) + 1);
  for (const shop of model.passedOver.keys()) if (!lines.has(shop)) model.passedOver.delete(shop);
  const part = Math.floor(room / Math.max(1, lines.size));
  for (const [shop, line] of lines) {
    const count = counts.get(shop) ?? 0;
    expect(count, `what shop ${shop} is given of ${String(room)}`).to.be.at.least(Math.min(part, line.length));
    if (count > 0) {
      model.passedOver.delete(shop);
      continue;
    }
    const passedOver = model.passedOver.get(shop) ?? new Map<string, number>();
    model.passedOver.set(shop, passedOver);
    for (const [other, more] of counts) {
      passedOver.set(other, (passedOver.get(other) ?? 0) + more);
      expect(passedOver.get(other), `turns of shop ${other} while shop ${shop} waits`).to.be.at.most(1);
    }
  }
}
