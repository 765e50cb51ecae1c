import { expect } from 'chai';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Database } from '../../shared/database/connect.js';
import type { MaterialRef, Operation } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { keyMemoryMsDefault } from '../../shared/inventory/time-limits.js';
import { decodeReplies } from '../../shared/queue/job-format.js';
import type { Replies } from '../../shared/queue/job-format.js';
import { takeMaterials } from '../../shared/queue/leases.js';
import { queueName, queuePrefix, replyChannel } from '../../shared/queue/names.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { createCycleFaults } from '../../worker/cycle-faults.js';
import { cycleMsMax } from '../../worker/cycle-limits.js';
import { runCycle } from '../../worker/cycle.js';
import type { LaneDeps } from '../../worker/lane-deps.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { recordOf, totalOf } from '../support/shop/change.js';
import { useDatabase } from '../support/database/database.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

/** In the worker, a transaction with ten thousand rows takes no further job; a request has a thousand at most. */
const [largeOperations, rowsMax] = [10, 1_000];
const hourMs = 3_600_000;

describe('a cycle that takes more than one transaction', () => {
  const harness = useQueueHarness();
  const postgres = useDatabase({ poolMax: 3, pipeline: true });
  let shop: TestShop;
  /** What the ledger watch was told of. */
  let changed: MaterialRef[];
  /** What the watch over held materials was told of: queues that were left out, and those that were worked on. */
  let watched: { leftOut: string[]; worked: string[] }[];
  beforeEach(async () => {
    shop = await createTestShop(postgres.database, { materials: 2 });
    changed = [];
    watched = [];
  });

  const ref = (index = 0) => ({ shopId: shop.shopId, materialId: shop.materialIds[index] ?? '' });
  const rowOf = (units: number) => ({ locationId: shop.locationIds[0] ?? '', delta: toMicros(units) });
  const book = (units: number): Operation => operationOf({ kind: 'adjust', rows: [rowOf(units)] });
  /** Adds one. What fills it is not booked: a slow Postgres ends a statement that writes so many rows. */
  const large = () => {
    const rows = Array.from({ length: rowsMax }, () => rowOf(1));
    const filling = () => operationOf({ kind: 'adjust', rows, dryRun: true });
    return [...Array.from({ length: largeOperations }, filling), book(1)];
  };
  const recorded = (operations: Operation[]) =>
    Promise.all(operations.map(({ id }) => recordOf(postgres.database, id)));

  it('has each of its jobs applied once and finished, whichever transaction it is in', async () => {
    const jobs = [large(), [book(-1)], [book(2)]];
    for (const operations of jobs) await harness.add(ref(), { operations });
    const elsewhere = book(5);
    await harness.add(ref(1), { operations: [elsewhere] });
    const transactions = await cycle(() => Promise.resolve());
    expect(transactions).to.equal(2);
    expect(await totalOf(postgres.database, shop), 'one, less one, and two, in that order').to.equal(2);
    expect(await totalOf(postgres.database, shop, ref(1).materialId)).to.equal(5);
    expect(await harness.jobs(ref(), 'active')).to.deep.equal([]);
    expect(await harness.jobs(ref(), 'wait')).to.deep.equal([]);
  });

  it('answers what one of them did before it begins the next', async () => {
    const operations = large();
    await harness.add(ref(), { operations });
    await harness.add(ref(), { operations: [book(-1)] });
    const answered: number[] = [];
    const told = await messagesDuring(async (toldSoFar) => {
      await cycle(async () => void answered.push((await toldSoFar()).length));
    });
    expect([answered[0], answered.at(-1)], 'messages before the first and the last').to.deep.equal([0, 1]);
    expect(told[0]?.map(([id]) => id)).to.have.members(operations.map(({ id }) => id));
  });

  it('begins no other once Redis has not taken the answers of one', async () => {
    const [first, next] = [large(), [book(-1)]];
    for (const operations of [first, next]) await harness.add(ref(), { operations });
    const redis = new Proxy(harness.redis, {
      get: (target, name) =>
        name === 'publish'
          ? () => Promise.reject(new Error('Connection is closed.'))
          : (Reflect.get(target, name) as unknown),
    });
    const fault: unknown = await cycle(() => Promise.resolve(), { redis }).catch((error: unknown) => error);
    expect(fault).to.have.property('message', 'Connection is closed.');
    expect(new Set(await recorded(first))).to.deep.equal(new Set(['executed']));
    expect(await recorded(next)).to.deep.equal([undefined]);
  });

  it('begins no other once it has lasted too long, and leaves that to the next cycle', async () => {
    const now = performance.now.bind(performance);
    const jobs: string[] = [];
    for (const operations of [large(), [book(2)]]) jobs.push(await harness.add(ref(), { operations }));
    const transactions = await cycle(() => {
      performance.now = () => now() + cycleMsMax;
      return Promise.resolve();
    }).finally(() => (performance.now = now));
    expect(transactions).to.equal(1);
    expect(await totalOf(postgres.database, shop)).to.equal(1);
    expect(await harness.jobs(ref(), 'wait'), 'the first of them is on record').to.deep.equal(jobs);
  });

  it('takes fewer field updates into one, since each answers with the whole material', async () => {
    const updates = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        operationOf({ kind: 'update', changes: { sku: `S-${String(index)}` } }),
      );
    const operations = Array.from({ length: 7 }, () => updates(12));
    for (const [index, each] of operations.entries()) await harness.add(ref(index < 6 ? 0 : 1), { operations: each });
    expect(await cycle(() => Promise.resolve())).to.equal(2);
    expect(new Set(await recorded(operations.flat()))).to.deep.equal(new Set(['executed']));
  });

  it('leaves a material whole that the first of them found locked, though it is free by the second', async () => {
    const operations = [large(), [book(-1)], [book(2)]];
    const jobs: string[] = [];
    for (const each of operations) jobs.push(await harness.add(ref(), { operations: each }));
    const elsewhere = book(5);
    await harness.add(ref(1), { operations: [elsewhere] });
    const held = await hold();
    const transactions = await cycle((number) => (number === 2 ? held.letGo() : Promise.resolve()));
    await held.letGo();
    expect(transactions).to.equal(2);
    expect(new Set(await recorded(operations.flat())), 'nor did a later job overtake the first').to.deep.equal(
      new Set([undefined]),
    );
    expect(await recordOf(postgres.database, elsewhere.id)).to.equal('executed');
    expect(changed.map(queueName), 'what the ledger watch is told').to.deep.equal([queueName(ref(1))]);
    expect(watched).to.deep.equal([{ leftOut: [queueName(ref())], worked: [queueName(ref(1))] }]);
    expect(await harness.jobs(ref(), 'wait')).to.deep.equal(jobs);
  });

  it('removes what has expired from a material that it leaves out, which nobody could put on record', async () => {
    const old = () => ({ ...book(1), acceptedAtMs: Date.now() - hourMs });
    const jobs: string[] = [];
    for (const operations of [[old(), old()], [old(), book(1)], [book(1)]]) {
      jobs.push(await harness.add(ref(), { operations }));
    }
    const held = await hold();
    await cycle(() => Promise.resolve());
    expect(await harness.jobs(ref(), 'wait')).to.deep.equal(jobs.slice(1));
    const keyOf = (job = '') => `${queuePrefix}:${queueName(ref())}:${job}`;
    expect(await Promise.all(jobs.map((job) => harness.redis.exists(keyOf(job))))).to.deep.equal([0, 1, 1]);
    await held.letGo();
  });

  it('goes by the clock of Redis in what has expired, and not by its own, also of what it leaves out', async () => {
    const [leftOut, taken] = [book(1), book(1)];
    await harness.add(ref(), { operations: [leftOut] });
    await harness.add(ref(1), { operations: [taken] });
    const held = await hold();
    await cycle(() => Promise.resolve(), { redisAheadMs: hourMs });
    await held.letGo();
    expect(await recorded([leftOut, taken])).to.deep.equal([undefined, 'expired']);
    expect(await harness.jobs(ref(), 'wait')).to.deep.equal([]);
  });

  it('in which operations run in parts leaves those behind one that found the material locked', async () => {
    const operations = [book(1), book(-1), book(2)];
    const job = await harness.add(ref(), { operations });
    const held = await hold();
    let transactions = 0;
    const told = await messagesDuring(async () => {
      transactions = await cycle((number) => {
        if (number <= 2) throw new Error('a fault of ours');
        return number === 4 ? held.letGo() : Promise.resolve();
      });
    });
    await held.letGo();
    expect(told, 'there is nothing to tell').to.deep.equal([]);
    expect(transactions, 'all together, twice, then the first half').to.equal(3);
    expect(await recorded(operations)).to.deep.equal([undefined, undefined, undefined]);
    expect(await harness.jobs(ref(), 'wait')).to.deep.equal([job]);
  });

  it('answers what is on record of a material that it then left out', async () => {
    const operations = [book(1), book(-1)];
    await harness.add(ref(), { operations });
    let held: Awaited<ReturnType<typeof hold>> | undefined;
    const told = await messagesDuring(async () => {
      await cycle(async (number) => {
        if (number <= 2) throw new Error('a fault of ours');
        // The first has run alone.
        if (number === 4) held = await hold();
      });
      await held?.letGo();
    });
    expect(await recorded(operations)).to.deep.equal(['executed', undefined]);
    expect(told.map((replies) => replies.map(([id]) => id))).to.deep.equal([[operations[0]?.id]]);
  });

  /** What the API process that waits is told meanwhile. */
  async function messagesDuring(act: (soFar: () => Promise<Replies[]>) => Promise<void>): Promise<Replies[]> {
    const told: Replies[] = [];
    const listener = new Redis(harness.server.url);
    try {
      await listener.subscribe(replyChannel('test'));
      listener.on('message', (_channel: string, message: string) => told.push(decodeReplies(message)));
      const soFar = async () => {
        // An answer on this connection comes after all that was published before.
        await listener.ping();
        return told;
      };
      await act(soFar);
      return await soFar();
    } finally {
      listener.disconnect();
    }
  }

  /**
   * Runs a cycle over all that is ready; calls `before` with the number of each transaction. Returns their count.
   *
   * @param options.redisAheadMs by how much the clock of Redis is ahead
   */
  async function cycle(
    before: (number: number) => Promise<void>,
    { redis = harness.redis, redisAheadMs = 0 } = {},
  ): Promise<number> {
    let transactions = 0;
    const client = postgres.database.client as { acquireConnection: () => Promise<unknown> };
    const acquireConnection = async () => {
      transactions += 1;
      await before(transactions);
      return client.acquireConnection();
    };
    const presence = await createWorkerPresence(harness.redis);
    const logger = pino({ level: 'silent' });
    const deps: LaneDeps = {
      redis,
      presence,
      database: Object.create(postgres.database, {
        client: { value: Object.create(client, { acquireConnection: { value: acquireConnection } }) as unknown },
      }) as Database,
      logger,
      faults: createCycleFaults(logger),
      keyMemoryMs: keyMemoryMsDefault,
      metrics: createWorkerMetrics(),
      ledgerWatch: { changed: (materials) => void changed.push(...materials), stop: () => Promise.resolve() },
      warnOfLeftOut: (leftOut, worked) => {
        watched.push({ leftOut: [...leftOut], worked: worked.map(({ queue }) => queue) });
      },
    };
    const taken = await takeMaterials(harness.redis, presence, 32);
    await runCycle(deps, { ...taken, nowMs: () => taken.nowMs() + redisAheadMs }, () => false);
    return transactions;
  }

  /** Holds the first material's row as any other session might. */
  async function hold(): Promise<{ letGo: () => Promise<void> }> {
    const transaction = await postgres.database.transaction();
    const { shopId, materialId } = ref();
    await transaction.raw('SELECT 1 FROM stock WHERE shop_id = ? AND material_id = ? FOR UPDATE', [shopId, materialId]);
    let isHeld = true;
    return {
      letGo: async () => {
        if (isHeld) await transaction.rollback();
        isHeld = false;
      },
    };
  }
});
