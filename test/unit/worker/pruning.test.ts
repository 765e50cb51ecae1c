import { expect } from 'chai';
import { pino } from 'pino';
import type { Database } from '../../../shared/database/connect.js';
import type { Rounds } from '../../../shared/runtime/periodically.js';
import { startPruning } from '../../../worker/pruning.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;
const batchSize = 2_000;
const facetBatchSize = 1_000;

type Answer = (after: unknown, given: { keptMs?: number; restMs?: number; batchSize: number }) => Promise<unknown>;

interface Started {
  operations?: Answer;
  ahead?: Answer;
  facets?: Answer;
  /** The times between two rounds of operations, and between two that begin at the first id. */
  times?: { everyMs: number; anewEveryMs?: number };
}

const overstayed = new Error('Query read timeout');
const none = { rows: [{ count: '0', last: null }] };
const full = { rows: [{ count: String(batchSize), last: 'f190', looked: facetBatchSize, last_id: 4_000 }] };

describe('the pruning of a worker', () => {
  // Also stops what a failed test has left running.
  const started: Rounds[] = [];
  let logged: string[] = [];
  afterEach(async () => {
    logged = [];
    for (const pruning of started.splice(0)) await pruning.stop();
  });

  /** What is deleted is up to the test; nothing, unless it says so. */
  function start({ operations, ahead, facets, times }: Started): Rounds {
    const answerOf = (sql: string) => {
      if (sql.includes('prune_facets')) return facets;
      return sql.includes('ahead') ? ahead : operations;
    };
    const raw = (sql: string, { after, ...given }: { after: unknown; batchSize: number }) =>
      answerOf(sql)?.(after, given) ?? Promise.resolve(none);
    const transaction = (work: (own: object) => unknown) => Promise.resolve(work({ raw }));
    const database = { transaction } as unknown as Database;
    const pruning = startPruning({ database, logger: pino({}, { write: (line) => void logged.push(line) }) }, times);
    started.push(pruning);
    return pruning;
  }

  it('deletes old operations from its start on, batch by batch, each from where the one before ended', async () => {
    const asked: unknown[] = [];
    const lasts = ['0190', '0191'];
    start({
      operations: (after) => {
        asked.push(after);
        const last = lasts.shift();
        return Promise.resolve(last === undefined ? none : { rows: [{ count: String(batchSize), last }] });
      },
    });
    await until(() => asked.length === 3, { deadlineMs: soonMsMax, what: 'three batches' });
    expect(asked.slice(1)).to.deep.equal(['0190', '0191']);
  });

  it('goes on in the next round behind what is deleted, also by a batch that was not full', async () => {
    const asked: unknown[] = [];
    const answers = [full, { rows: [{ count: '5', last: 'f191' }] }];
    start({
      times: { everyMs: 10 },
      operations: (after) => {
        asked.push(after);
        return Promise.resolve(answers.shift() ?? none);
      },
    });
    await until(() => asked.length === 4, { deadlineMs: soonMsMax, what: 'the third round' });
    expect(asked.slice(1)).to.deep.equal(['f190', 'f191', 'f191']);
  });

  it('begins at the first id again from time to time, and is not led back by that where it fails there', async () => {
    const asked: string[] = [];
    const answers = [
      full,
      none,
      // The round that begins anew: one that was left at the first ids, and behind it the gap that takes too long.
      { rows: [{ count: '1', last: '0100' }] },
    ];
    start({
      times: { everyMs: 10, anewEveryMs: 1_500 },
      operations: (after, { batchSize: size }) => {
        const from = String(after).slice(0, 4);
        const isAnew = asked.length > 1 && (from === '0000' || from === '0100');
        if (isAnew && (size > 1 || from === '0100')) return Promise.reject(overstayed);
        asked.push(from);
        return Promise.resolve(answers.shift() ?? none);
      },
    });
    const isPast = () => asked.includes('0000', 1) && asked.at(-1) !== '0000';
    await until(isPast, { deadlineMs: 2 * soonMsMax, what: 'the round after one that began anew' });
    expect(asked.at(-1)).to.equal('f190');
  });

  it('looks at what became old since, where it fails at the first ids from its start on', async () => {
    const startedMs = Date.now();
    const asked: string[] = [];
    start({
      times: { everyMs: 10 },
      operations: (after, { batchSize: size }) => {
        const id = String(after);
        // One was left before what it cannot pass over.
        if (id.startsWith('0000') && size === 1) return Promise.resolve({ rows: [{ count: '1', last: '0100' }] });
        if (id.startsWith('0000') || id === '0100') return Promise.reject(overstayed);
        asked.push(id);
        return Promise.resolve(none);
      },
    });
    await until(() => asked.length > 0, { deadlineMs: 2 * soonMsMax, what: 'the second round' });
    const becameOldMs = Number.parseInt(asked[0]?.replaceAll('-', '').slice(0, 12) ?? '', 16) + 48 * 3_600_000;
    expect(startedMs - becameOldMs).to.be.within(0, 600_000);
  });

  it('halves a batch that takes too long, goes on with such in the same round, and says so', async () => {
    const asked: string[] = [];
    const lasts = ['0190', '0191'];
    start({
      operations: (after, { batchSize: size }) => {
        asked.push(`${String(size)} from ${String(after).slice(0, 4)}`);
        if (size > 500) return Promise.reject(overstayed);
        const last = lasts.shift();
        return Promise.resolve(last === undefined ? none : { rows: [{ count: String(size), last }] });
      },
    });
    await until(() => asked.length === 5, { deadlineMs: soonMsMax, what: 'three batches in time' });
    expect(asked).to.deep.equal([
      '2000 from 0000',
      '1000 from 0000',
      '500 from 0000',
      '500 from 0190',
      '500 from 0191',
    ]);
    await until(() => logged.length > 0, { deadlineMs: soonMsMax, what: 'a line of the log' });
    const told = logged.map((line) => JSON.parse(line) as { level: number; batchSize: number });
    expect(told.map(({ level, batchSize: size }) => ({ level, size }))).to.deep.equal([{ level: 40, size: 1_000 }]);
  });

  it('makes them larger again once they are in time, as after a lock that went away', async () => {
    const sizes: number[] = [];
    start({
      operations: (_after, { batchSize: size }) => {
        sizes.push(size);
        const isFull = { rows: [{ count: String(size), last: '0190' }] };
        return sizes.length <= 2 ? Promise.reject(overstayed) : Promise.resolve(isFull);
      },
    });
    await until(() => sizes.length > 2 + 2 * 10 + 10, { deadlineMs: soonMsMax, what: 'batches of the first size' });
    const times = (count: number, size: number) => Array.from({ length: count }, () => size);
    expect(sizes.slice(0, 33)).to.deep.equal([
      2_000,
      1_000,
      ...times(10, 500),
      ...times(10, 1_000),
      ...times(11, 2_000),
    ]);
    expect(logged).to.have.length(1);
  });

  it('tells of it once while they are smaller, and again where it comes again later', async () => {
    let batches = 0;
    start({
      operations: (_after, { batchSize: size }) => {
        batches += 1;
        const isFull = { rows: [{ count: String(size), last: '0190' }] };
        return [1, 2, 30, 31].includes(batches) ? Promise.reject(overstayed) : Promise.resolve(isFull);
      },
    });
    await until(() => batches > 31, { deadlineMs: soonMsMax, what: 'what comes after the second time' });
    const sizes = logged.map((line) => (JSON.parse(line) as { batchSize: number }).batchSize);
    expect(sizes).to.deep.equal([1_000, 1_000]);
  });

  it('tells of it once where half the size is always in time and the whole never is', async () => {
    let batches = 0;
    start({
      operations: (_after, { batchSize: size }) => {
        batches += 1;
        const isFull = { rows: [{ count: String(size), last: '0190' }] };
        return size > 1_000 ? Promise.reject(overstayed) : Promise.resolve(isFull);
      },
    });
    await until(() => batches > 34, { deadlineMs: soonMsMax, what: 'what comes after the fourth time' });
    expect(logged).to.have.length(1);
  });

  it('halves also a batch of facets that takes too long', async () => {
    const sizes: number[] = [];
    start({
      facets: (_after, { batchSize: size }) => {
        sizes.push(size);
        return size > 500 ? Promise.reject(overstayed) : Promise.resolve(none);
      },
    });
    await until(() => sizes.length === 2, { deadlineMs: soonMsMax, what: 'a batch in time' });
    expect(sizes).to.deep.equal([facetBatchSize, 500]);
  });

  it('deletes those whose ids are ahead of their time after the others, batch by batch', async () => {
    const asked: unknown[] = [];
    const lasts = ['f190', 'f191'];
    const batch = (kind: string) => (after: unknown) => {
      asked.push(`${kind} ${String(after)}`);
      const last = kind === 'ahead' ? lasts.shift() : undefined;
      return Promise.resolve(last === undefined ? none : { rows: [{ count: String(batchSize), last }] });
    };
    start({ operations: batch('old'), ahead: batch('ahead') });
    await until(() => asked.length === 4, { deadlineMs: soonMsMax, what: 'four batches' });
    const nil = '00000000-0000-0000-0000-000000000000';
    expect(asked).to.deep.equal([`old ${nil}`, `ahead ${nil}`, 'ahead f190', 'ahead f191']);
  });

  it('keeps operations for two days, twice as long as a key is remembered, and unused facets for an hour', async () => {
    const asked = new Map<string, number | undefined>();
    const kept = (what: string): Answer => {
      return (_after, { keptMs, restMs }) => {
        asked.set(what, keptMs ?? restMs);
        return Promise.resolve(none);
      };
    };
    start({ operations: kept('operations'), ahead: kept('ahead'), facets: kept('facets') });
    await until(() => asked.size === 3, { deadlineMs: soonMsMax, what: 'a batch of each' });
    const hourMs = 3_600_000;
    expect(Object.fromEntries(asked)).to.deep.equal({ operations: 48 * hourMs, ahead: 48 * hourMs, facets: hourMs });
  });

  it('looks at facets from its start on, batch by batch, each from where the one before ended', async () => {
    const asked: unknown[] = [];
    const lasts = [4_000, 8_000];
    start({
      facets: (after) => {
        asked.push(after);
        const last_id = lasts.shift();
        return Promise.resolve(last_id === undefined ? none : { rows: [{ looked: facetBatchSize, last_id }] });
      },
    });
    await until(() => asked.length === 3, { deadlineMs: soonMsMax, what: 'three batches' });
    expect(asked).to.deep.equal([0, 4_000, 8_000]);
  });

  const ends = { 'is full': () => Promise.resolve(full), overstays: () => Promise.reject(overstayed) };

  for (const what of ['operations', 'facets'] as const) {
    for (const [how, answer] of Object.entries(ends)) {
      it(`waits on a stop for the batch of ${what} under way, which ${how}, and begins no other`, async () => {
        let asked = 0;
        let end: () => void = () => undefined;
        const ended = new Promise<void>((resolve) => (end = resolve));
        const pruning = start({
          [what]: () => {
            asked += 1;
            return ended.then(answer);
          },
        });
        let hasStopped = false;
        const stopped = pruning.stop().then(() => (hasStopped = true));
        await new Promise(setImmediate);
        expect(hasStopped).to.equal(false);
        end();
        await stopped;
        expect(asked).to.equal(1);
      });
    }
  }

  it('ends on a stop the pause after a batch that overstayed', async () => {
    const sizes: number[] = [];
    const pruning = start({
      operations: (_after, { batchSize: size }) => {
        sizes.push(size);
        return Promise.reject(overstayed);
      },
    });
    await new Promise(setImmediate);
    await pruning.stop();
    expect(sizes).to.deep.equal([batchSize]);
  });

  it('ends on a stop the pause between two batches', async () => {
    const pruning = start({ operations: () => Promise.resolve(full) });
    await new Promise(setImmediate);
    let hasStopped = false;
    void pruning.stop().then(() => (hasStopped = true));
    await new Promise(setImmediate);
    expect(hasStopped).to.equal(true);
  });
});
