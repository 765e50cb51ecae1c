import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { arrivingMsMax, createConnectionTurns } from '../../../api/http/connection-turns.js';
import type { ConnectionTurns } from '../../../api/http/connection-turns.js';
import { slowClock } from '../../support/time/slow-clock.js';
import type { SlowClock } from '../../support/time/slow-clock.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 5_000;

/** A request as the turns see it, on a connection of its own. */
function requestOf(isComplete: boolean) {
  const seen = { isPaused: false };
  const socket = Object.assign(new EventEmitter(), {
    writable: true,
    destroyed: false,
    pause: () => (seen.isPaused = true),
    resume: () => (seen.isPaused = false),
  });
  const req = Object.assign(new EventEmitter(), { socket, headers: {}, complete: isComplete });
  const res = new EventEmitter();
  let decide: () => void = () => undefined;
  const decided = new Promise<void>((resolve) => (decide = resolve));
  return {
    seen,
    /** Until it is answered. */
    run: async (turns: ConnectionTurns, work: () => Promise<void> = () => decided) => {
      const ctx = { method: 'PATCH', req, res, state: { caller: { shop: { id: 1 } } } };
      await turns.take(ctx as unknown as Parameters<ConnectionTurns['take']>[0], work);
      res.emit('close');
    },
    /** Is there, and not yet read. */
    comeWhole: () => (req.complete = true),
    arrive: () => {
      req.complete = true;
      req.emit('end');
    },
    decide,
  };
}

describe('the connections of a shop, while requests of others arrive slowly', () => {
  let turns: ConnectionTurns;
  /** Or those that wait would have the turn that comes in any case, where the process stood still for a second. */
  let clock: SlowClock;
  beforeEach(() => {
    clock = slowClock(1_000);
    turns = createConnectionTurns({ inHandMax: () => 2, keepAliveMs: 600_000, isForwarded: () => false });
  });
  afterEach(() => {
    turns.close();
    clock.restore();
  });

  /** A connection that has had an answer, longer after whatever came before than a request may take to arrive. */
  async function answered() {
    const { run, seen } = requestOf(true);
    clock.advance(arrivingMsMax + 1);
    await run(turns, () => Promise.resolve());
    return seen;
  }
  async function expectReadOn(what = 'read on'): Promise<void> {
    const seen = await answered();
    await until(() => !seen.isPaused, { deadlineMs: soonMsMax, what });
  }
  async function expectNotReadOn(what?: string): Promise<void> {
    const seen = await answered();
    // Some twenty looks at what is free.
    await delay(100);
    expect(seen.isPaused, what).to.equal(true);
  }

  it('are read on, since those are not in hand until they have arrived', async () => {
    const slow = [requestOf(false), requestOf(false), requestOf(false)];
    const running = slow.map(({ run }) => run(turns));
    await expectReadOn();
    for (const { arrive } of slow) arrive();
    await expectNotReadOn('once they have arrived');
    for (const { decide } of slow) decide();
    await Promise.all(running);
    await expectReadOn('once they are answered');
  });

  it('are not read on for those that are there, though nobody has read them yet', async () => {
    const there = [requestOf(false), requestOf(false)];
    const running = there.map(({ run }) => run(turns));
    for (const { comeWhole } of there) comeWhole();
    await expectNotReadOn();
    for (const { decide } of there) decide();
    await Promise.all(running);
    await expectReadOn('once they are answered');
  });

  it('are read on after such a one was refused, and its body counts for nothing if it comes after that', async () => {
    const [refused, whole, other] = [requestOf(false), requestOf(true), requestOf(true)];
    const running = refused.run(turns);
    await expectReadOn();
    refused.decide();
    await running;
    refused.arrive();
    const more = [whole.run(turns)];
    await expectReadOn('with one in hand');
    more.push(other.run(turns));
    await expectNotReadOn('with two');
    for (const { decide } of [whole, other]) decide();
    await Promise.all(more);
    await expectReadOn('with none');
  });
});
