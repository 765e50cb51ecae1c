import { expect } from 'chai';
import { Redis } from 'ioredis';
import { v7 as uuidv7 } from 'uuid';
import type { HistoryPage } from '../../shared/contract/history-page.js';
import type { Database } from '../../shared/database/connect.js';
import { takeMaterials } from '../../shared/queue/leases.js';
import { runScript } from '../../shared/queue/run-script.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { ask } from '../support/http/http-service.js';
import { inventoryPath } from '../support/http/material-paths.js';
import { expectHistory } from '../support/http/opt-in-replies.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { adjust, totalOf } from '../support/shop/change.js';
import { whileHeld } from '../support/processes/hold-workers.js';
import { expectData } from '../support/http/reply.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';
import { useService } from '../support/processes/use-service.js';

const deadlineMs = 10_000;

/**
 * An update replaces processes one by one, so for a while two versions work on one queue. What they write for each
 * other stands here as it is, in names and numbers of its own: everywhere else both sides are of one version, and agree
 * whatever they write. Whoever has to change a literal here breaks updates. Let a version read both forms first, and a
 * later one write the new.
 */
describe('processes of two versions beside each other', () => {
  let service: Service;
  let database: Database;
  let redis: Redis;
  let shop: TestShop;
  useService({}, (started) => ({ service, database } = started));
  before(async () => {
    redis = new Redis(service.redisUrl, { retryStrategy: () => null });
    shop = await createTestShop(database, { materialIds: ['VMAT-VAR-1', 'VMAT-VAR-2'] });
    expect(shop.shopId, 'of the keys and sums below').to.equal(1);
  });
  after(() => {
    redis.disconnect();
  });

  async function readHistory(query: string): Promise<HistoryPage> {
    const path = `${inventoryPath('VMAT-VAR-2')}/history${query}`;
    return expectHistory(await ask(service.baseUrls[0] ?? '', { path, key: shop.readKey }));
  }

  /** What the API of another version would do for a job. */
  async function queue(operations: object[]): Promise<void> {
    const job = { version: 1, replyTo: 'another-api', operations };
    await redis
      .multi()
      .hset('{raw-materials}:queue:1.VMAT-VAR-1:a-job', 'data', JSON.stringify(job))
      .lpush('{raw-materials}:queue:1.VMAT-VAR-1:wait', 'a-job')
      .zadd('{raw-materials}:scheduled', Date.now() + 4_000, '1.VMAT-VAR-1')
      .hset('{raw-materials}:since', '1.VMAT-VAR-1', Date.now())
      .rpush('{raw-materials}:ready:1', '1.VMAT-VAR-1')
      .rpush('{raw-materials}:ready', '1')
      .rpush('{raw-materials}:wake', '1')
      .exec();
  }

  it('understand each other: a worker applies what another API has queued, and says so in its words', async () => {
    const replies: string[] = [];
    const listening = redis.duplicate();
    listening.on('message', (_, message) => replies.push(message));
    await listening.subscribe('{raw-materials}:replies:another-api');
    const operation = (command: object) => {
      const id = uuidv7();
      return { id, command, acceptedAtMs: Date.now(), channel: 'rest', keyId: null, requestId: null };
    };
    const rows = [
      { locationId: '1001', delta: 1_500_000, reason: 'received', reference: 'PO-1' },
      { locationId: '1002', absolute: 2_000_000, expected: 0 },
      { locationId: '99', delta: 1_000_000 },
    ];
    const adjustment = operation({ kind: 'adjust', rows, rowIndexes: [0, 2, 3], detailed: true });
    const update = operation({ kind: 'update', changes: { sku: 'S-1' }, ifVersions: [1] });
    const refused = operation({ kind: 'update', changes: { sku: 'S-2' }, ifVersions: [1] });
    await queue([adjustment, update, refused]);
    await until(() => replies.length > 0, { deadlineMs, what: 'the reply' });
    listening.disconnect();

    const outcomes = JSON.parse(replies[0] ?? '') as [string, { result: { material: object } }][];
    const changes = [
      { index: 0, locationId: '1001', previous: 0, applied: 1_500_000, level: 1_500_000, clamped: false },
      { index: 2, locationId: '1002', previous: 0, applied: 2_000_000, level: 2_000_000, clamped: false },
    ];
    const failures = [{ index: 3, code: 'NOT_FOUND', message: 'The shop has no location 99.' }];
    const { material } = outcomes[1]?.[1].result ?? {};
    expect(material).to.include({ variantId: 'VMAT-VAR-1', sku: 'S-1', inventoryQuantity: 3.5 });
    const message = 'The fields are at version "2", which If-Match does not name. Nothing was changed.';
    const results = [
      { kind: 'adjusted', rowCount: 3, failures, changes },
      { kind: 'updated', material, version: 2 },
      { kind: 'rejected', code: 'PRECONDITION_FAILED', message },
    ];
    const executed = results.map((result) => ({ status: 'executed', result, replayed: false }));
    const ids = [adjustment.id, update.id, refused.id];
    expect(outcomes).to.deep.equal(ids.map((id, index) => [id, executed[index]]));
    const { rows: booked } = await database.raw<{ rows: object[] }>(
      'SELECT reason, reference FROM ledger WHERE op_id = ? ORDER BY row_index',
      [adjustment.id],
    );
    expect(booked).to.deep.equal([
      { reason: 'received', reference: 'PO-1' },
      { reason: null, reference: null },
    ]);
  });

  it('understand each other: an API queues in the words of another worker, and understands its reply', async () => {
    const baseUrl = service.baseUrls[0] ?? '';
    const ofQueue = '{raw-materials}:queue:1.VMAT-VAR-2';
    const answer = await whileHeld(service, async () => {
      const rows = [
        { locationId: '1001', delta: 1.5, reason: 'received', reference: 'PO-1' },
        { locationId: '1002', absolute: 2, expected: 0 },
      ];
      const answering = adjust(baseUrl, shop, rows, { materialId: 'VMAT-VAR-2', idempotencyKey: 'k-1' });
      const queued = async () => (await redis.lindex(`${ofQueue}:wait`, 0)) ?? undefined;
      const id = await until(queued, { deadlineMs, what: 'the job' });
      expect(await redis.zscore('{raw-materials}:scheduled', '1.VMAT-VAR-2')).to.match(/^\d{13}$/);
      expect(await redis.lrange('{raw-materials}:ready:1', 0, -1)).to.deep.equal(['1.VMAT-VAR-2']);
      expect(await redis.lrange('{raw-materials}:ready', 0, -1)).to.deep.equal(['1']);
      const job = JSON.parse((await redis.hget(`${ofQueue}:${id}`, 'data')) ?? '') as {
        replyTo: string;
        database: string;
        operations: { id: string; acceptedAtMs: number }[];
      };
      const [{ id: operationId, acceptedAtMs } = { id: '', acceptedAtMs: 0 }] = job.operations;
      expect(Math.abs(Date.now() - acceptedAtMs)).to.be.below(deadlineMs);
      expect(job.database).to.match(/^\d+\.\d+$/);
      expect(job).to.deep.equal({
        version: 1,
        replyTo: job.replyTo,
        database: job.database,
        operations: [
          {
            id: operationId,
            command: {
              kind: 'adjust',
              rows: [
                { locationId: '1001', delta: 1_500_000, reason: 'received', reference: 'PO-1' },
                { locationId: '1002', absolute: 2_000_000, expected: 0 },
              ],
            },
            acceptedAtMs,
            channel: 'rest',
            keyId: shop.writeKey.slice(4, 16),
            requestId: operationId,
            idempotency: {
              scope: 'f270c2945aeb0bee70efbad99e409d0b69a0fa1606ff70a52e3ad6781485ced7',
              requestHash: '85594b363abc1b0a972c0a0630984b401062a95422e5b29ebef18dc302bcd2d7',
            },
          },
        ],
      });
      const failures = [{ index: 1, code: 'CONFLICT', message: 'As another worker says it.' }];
      const result = { kind: 'adjusted', rowCount: 2, failures };
      const replies = [[operationId, { status: 'executed', result, replayed: false }]];
      await redis.publish(`{raw-materials}:replies:${job.replyTo}`, JSON.stringify(replies));
      return answering;
    });
    expect(expectData(answer, 'batch')).to.deep.equal({
      results: [
        { index: 0, ok: true, id: 'VMAT-VAR-2' },
        { index: 1, ok: false, error: { code: 'CONFLICT', message: 'As another worker says it.' } },
      ],
      okCount: 1,
      failedCount: 1,
      skippedCount: 0,
    });
  });

  it('remember alike what a key has executed: it is answered again, and not applied twice', async () => {
    await database.raw(
      `INSERT INTO operations (op_id, shop_id, material_id, status, result, key_scope, request_hash, recorded_at)
       VALUES (?, 1, 'VMAT-VAR-1', 'executed', ?, decode(?, 'hex'), decode(?, 'hex'), now())`,
      [
        uuidv7(),
        '{"kind":"adjusted","rowCount":1,"failures":[]}',
        '24027d60ac9900a725bf3508f13f91a9b432446c45e5584eedc6ca02e7905819',
        'db6fd2528abc6a65b137836bd762edb84920950d1c2f8b24feb8173df148d818',
      ],
    );
    const before = await totalOf(database, shop);
    const answer = await adjust(service.baseUrls[0] ?? '', shop, [{ locationId: '1001', delta: 1.5 }], {
      idempotencyKey: 'k-1',
    });
    expect(expectData(answer, 'batch')).to.include({ okCount: 1, failedCount: 0 });
    expect(answer.headers['idempotency-replayed']).to.equal('true');
    expect(await totalOf(database, shop)).to.equal(before);
  });

  it('understand each other: a history is read on by the cursor of another API', async () => {
    const rows = [1, 2].map((delta) => ({ locationId: '1001', delta }));
    await adjust(service.baseUrls[0] ?? '', shop, rows, { materialId: 'VMAT-VAR-2' });
    const first = await readHistory('?limit=1');
    const [newest] = first.items;
    const cursor = Buffer.from(`${Date.parse(newest?.at ?? '')}.1`).toString('base64url');
    expect(first.nextCursor).to.equal(cursor);
    const second = await readHistory(`?limit=1&cursor=${cursor}`);
    expect([...first.items, ...second.items].map(({ applied }) => applied)).to.deep.equal([2, 1]);
  });
});

describe('workers of two versions beside each other', () => {
  const harness = useQueueHarness();
  /** No connection of this Redis has this number. */
  const gone = '9007199254740991';
  const material = '1.VMAT-VAR-1';
  const inLine = () =>
    harness.redis
      .multi()
      .hset('{raw-materials}:since', material, Date.now())
      .rpush('{raw-materials}:ready:1', material)
      .rpush('{raw-materials}:ready', '1')
      .exec();
  /** What another worker does for a material that it takes. */
  const hold = (token: string) =>
    harness.redis
      .multi()
      .zadd('{raw-materials}:scheduled', Date.now() + 60_000, material)
      .hset('{raw-materials}:leases', material, token)
      .exec();

  it('take nothing that another holds, and what it has given back', async () => {
    await hold('7.another-version');
    await inLine();
    expect(await harness.take()).to.deep.equal([]);
    await harness.redis.hdel('{raw-materials}:leases', material);
    await inLine();
    expect((await harness.take()).map(({ queue }) => queue)).to.deep.equal([material]);
  });

  it('free what another held whose connection is gone', async () => {
    await hold(`${gone}.another-version`);
    await harness.redis.zadd('{raw-materials}:workers', Date.now() + 50_000, gone);
    const presence = await createWorkerPresence(harness.redis);
    await presence.buryGone();
    expect(await harness.redis.hgetall('{raw-materials}:leases')).to.deep.equal({});
    expect(await harness.redis.lrange('{raw-materials}:ready:1', 0, -1)).to.deep.equal([material]);
    expect(await harness.redis.hget('{raw-materials}:since', material)).to.match(/^\d{13}$/);
    expect(await harness.redis.zscore('{raw-materials}:workers', gone)).to.equal(null);
  });

  it('say in the words of the others who they are, which database they write to, and what they hold', async () => {
    const presence = await createWorkerPresence(harness.redis, () => '7.16384');
    await harness.add({ shopId: 1, materialId: 'VMAT-VAR-1' });
    await takeMaterials(harness.redis, presence, 1);
    const id = String(await harness.redis.client('ID'));
    expect(await harness.redis.zscore('{raw-materials}:workers', id)).to.match(/^\d{13}$/);
    expect(await harness.redis.zscore('{raw-materials}:databases', '7.16384')).to.match(/^\d{13}$/);
    expect(await harness.redis.zscore('{raw-materials}:scheduled', material)).to.match(/^\d{13}$/);
    expect(await harness.redis.hget('{raw-materials}:leases', material)).to.match(
      new RegExp(`^${id}\\.[\\da-f-]{36}$`),
    );
  });

  it('are heard by an API: that they live, for which database, and that their Postgres has no room', async () => {
    const inSeconds = Date.now() + 50_000;
    await harness.redis
      .multi()
      .zadd('{raw-materials}:workers', inSeconds, '7')
      .zadd('{raw-materials}:databases', inSeconds, '7.16384')
      .set('{raw-materials}:refusal', 'No space left on device')
      .exec();
    const [, liveWorkers, , , otherDatabase, refusal] = (await runScript(
      harness.redis,
      'rmStatus',
      3_000,
      '8.16384',
    )) as unknown[];
    expect({ liveWorkers, otherDatabase, refusal }).to.deep.equal({
      liveWorkers: 1,
      otherDatabase: '7.16384',
      refusal: 'No space left on device',
    });
  });
});
