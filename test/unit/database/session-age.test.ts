import { expect } from 'chai';
import { connectDatabase } from '../../../shared/database/connect.js';
import type { Database } from '../../../shared/database/connect.js';
import type { RawConnection } from '../../../shared/database/raw-connection.js';
import { createSessionAge } from '../../../shared/database/session-age.js';
import { useDatabase } from '../../support/database/database.js';
import { until } from '../../support/time/until.js';

/** By then, the longest term is over: a minute, and half a minute at most. */
const termMsMax = 90_000;
const minuteMs = 60_000;
/** Longer than between two sessions that are given up. */
const pauseMs = 2_000;
const sessionsMax = 5;

describe('the age of sessions', () => {
  const now = performance.now.bind(performance);
  afterEach(() => (performance.now = now));

  it('is over for one at a time, and for the next a second after that is known, however long that took', async () => {
    let atMs = 0;
    performance.now = () => atMs;
    let answer: (isFull: boolean) => void = () => undefined;
    const age = createSessionAge(() => new Promise((resolve) => (answer = resolve)));
    const [one, other] = [{}, {}] as unknown as [RawConnection, RawConnection];
    for (const session of [one, other]) age.opened(session);
    atMs = termMsMax;
    const first = age.isOver(one);
    atMs += 1_200;
    expect(await age.isOver(other), 'while it is asked').to.equal(false);
    answer(false);
    expect(await first).to.equal(true);
    expect(await age.isOver(other), 'right after it').to.equal(false);
    atMs += 1_000;
    const second = age.isOver(other);
    answer(false);
    expect(await second).to.equal(true);
  });
});

describe('a pool whose sessions have become old', () => {
  const tested = useDatabase({ poolMax: 1 });
  const role = `crowded_${String(process.pid)}`;
  const now = performance.now.bind(performance);
  let crowded: Database;
  beforeEach(async () => {
    const url = new URL(tested.url);
    await tested.database.raw(`CREATE ROLE ${role} LOGIN PASSWORD 'test'`);
    [url.username, url.password] = [role, 'test'];
    crowded = connectDatabase({ url: url.href, poolMax: sessionsMax + 1, applicationName: 'test' });
  });
  afterEach(async () => {
    performance.now = now;
    await crowded.destroy();
    await tested.database.raw(`DROP ROLE ${role}`);
  });

  const pass = (ms: number) => {
    performance.now = () => now() + ms;
  };
  /** From so many milliseconds on, uses all sessions again and again: each time, one of them may be replaced. */
  async function useFrom(ms: number): Promise<(number | undefined)[]> {
    for (let replaced = 0; replaced < sessionsMax; replaced += 1) {
      pass(ms + replaced * pauseMs);
      await askIn(sessionsMax);
    }
    return askIn(sessionsMax);
  }
  /** How many sessions Postgres has for this process; others have taken all the rest. */
  const allow = (sessions: number) => tested.database.raw(`ALTER ROLE ${role} CONNECTION LIMIT ${String(sessions)}`);
  /** Asks in as many sessions at once: none is answered, and free for another, before all ask or have been refused. */
  async function settle(sessions: number): Promise<PromiseSettledResult<{ rows: { pid: number }[] }>[]> {
    let refused = 0;
    const ask = () =>
      crowded
        .raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid, pg_advisory_xact_lock_shared(8)')
        .catch((error: unknown) => {
          refused += 1;
          throw error;
        });
    const { asked } = await tested.database.transaction(async (holder) => {
      await holder.raw('SELECT pg_advisory_xact_lock(8)');
      const asking = Promise.allSettled(Array.from({ length: sessions }, ask));
      await until(async () => (await waitingIn(holder)) + refused === sessions, {
        deadlineMs: 15_000,
        what: () => `all to ask, of whom ${String(refused)} were refused`,
      });
      return { asked: asking };
    });
    return asked;
  }
  /** @returns in which sessions it was answered */
  async function askIn(sessions: number): Promise<(number | undefined)[]> {
    return (await settle(sessions)).map((answer) => {
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value.rows[0]?.pid;
    });
  }
  /** Asks in one session more than there are, and is refused it. */
  async function beRefused(): Promise<void> {
    await allow(0);
    const refused = (await settle(sessionsMax + 1)).filter(({ status }) => status === 'rejected');
    expect(refused).to.have.length(1).and.have.nested.property('[0].reason.code', '53300');
  }

  it('replaces them by and by, and none before its time', async () => {
    const first = await askIn(sessionsMax);
    expect(await askIn(sessionsMax)).to.have.members(first);
    expect(await useFrom(termMsMax), 'after a minute and a half').to.not.include.oneOf(first);
  });

  it('replaces one at a time: no request waits for the log-ins of all', async () => {
    const first = await askIn(sessionsMax);
    const at = now() + termMsMax;
    performance.now = () => at;
    await askIn(1);
    const then = await askIn(sessionsMax);
    expect(then.filter((pid) => first.includes(pid))).to.have.length(sessionsMax - 1);
  });

  it('keeps them, however old, while Postgres has no connection for their successors', async () => {
    const first = await askIn(sessionsMax);
    await beRefused();
    for (let minutes = 2; minutes <= 23; minutes += 7) {
      pass(minutes * minuteMs);
      expect(first).to.include.members(await askIn(1));
      expect(await askIn(sessionsMax), `after ${String(minutes)} minutes`).to.have.members(first);
    }
    await allow(-1);
    expect(await useFrom(25 * minuteMs), 'once there are connections again').to.not.include.oneOf(first);
  });

  it('keeps them also where it has not been refused one before', async () => {
    const first = await askIn(sessionsMax);
    await allow(0);
    pass(termMsMax);
    expect(first).to.include.members(await askIn(1));
    expect(await askIn(sessionsMax)).to.have.members(first);
  });

  it('keeps them also once it was given one more, and Postgres has none again', async () => {
    await askIn(sessionsMax);
    await beRefused();
    await allow(sessionsMax + 1);
    const all = await askIn(sessionsMax + 1);
    await allow(0);
    pass(2 * minuteMs);
    expect(all).to.include.members(await askIn(1));
    expect(await askIn(sessionsMax + 1)).to.have.members(all);
  });
});

/** How many sessions wait for an advisory lock in this database. */
async function waitingIn(database: Database): Promise<number> {
  const { rows } = await database.raw<{ rows: unknown[] }>(
    `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows.length;
}
