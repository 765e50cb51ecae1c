import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Database } from '../../shared/database/connect.js';
import { queuePrefix } from '../../shared/queue/names.js';
import { totalOf } from '../support/shop/change.js';
import { counting } from '../support/long-run/counting.js';
import { connectForTest } from '../support/database/database.js';
import { freezeWorkers, holdWorkers } from '../support/processes/hold-workers.js';
import { isLongRun, sizeOf } from '../support/long-run/long-run.js';
import { request } from '../support/http/http.js';
import { inventoryPath } from '../support/http/material-paths.js';
import { startOverload } from '../support/faults/overload.js';
import type { Overload } from '../support/faults/overload.js';
import type { OverloadResult } from '../support/faults/overload-generator.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { startService } from '../support/processes/service.js';
import type { Service, ServiceOptions } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 30_000;

interface Overloaded {
  service: Service;
  database: Database;
  generator: Overload;
  port: number;
}

async function withService(options: ServiceOptions, use: (all: Overloaded) => Promise<void>): Promise<void> {
  const service = await startService(options);
  const database = connectForTest(service.databaseUrl);
  const generator = startOverload();
  try {
    await use({ service, database, generator, port: service.apis[0]?.port ?? 0 });
  } finally {
    await generator.close();
    await database.destroy();
    await service.stop();
  }
}

describe('T13: five times as much as can be taken', () => {
  it('every answer is an execution or a refusal with Retry-After; what was taken is applied; the bound holds', async () => {
    // Ten jobs of each shop leave the API, each with an operation at least. So what a shop may have shows in the queues
    // of the two large ones, and what the process may have in those of all.
    const [shopMax, processMax] = [20, 30];
    const apiEnv = { IN_FLIGHT_SHOP_MAX: String(shopMax), IN_FLIGHT_MAX: String(processMax) };
    await withService({ apiEnv }, async ({ service, database, generator, port }) => {
      const shops = [
        await createTestShop(database, { materials: 32, locations: 1 }),
        await createTestShop(database, { materials: 32, locations: 1 }),
      ];
      for (let small = 0; small < 8; small += 1)
        shops.push(await createTestShop(database, { materials: 8, locations: 1 }));
      const redis = new Redis(service.redisUrl, { retryStrategy: () => null });
      const [worker] = service.workers;
      // The generator takes seconds to come up on a slow machine.
      await holdWorkers(service, redis);
      let isOver = false;
      const waiting = watchWaiting(redis, () => isOver);
      const running = generator.run({
        port,
        connections: 5 * processMax,
        forMs: soonMsMax,
        requestsMax: 5_000,
        messages: byTurns(shops),
      });
      // While the worker stands still, all that is taken on waits, as much as may in the queues; the rest is refused.
      await until(() => waiting.most() > processMax / 2, { deadlineMs: soonMsMax, what: 'a backlog' });
      // What were taken on beyond the bounds would be in the queues by then.
      await delay(200);
      worker?.kill('SIGCONT');
      const result = await running;
      isOver = true;
      await waiting.ended;
      redis.disconnect();
      const executed = expectHonest(result);
      expect(await totalsOf(database, shops)).to.equal(executed);
      expect(waiting.most()).to.be.at.most(processMax);
      expect(waiting.mostOfAShop()).to.be.at.most(shopMax);
      await untilIdle(service);
    });
  });

  // What is judged here is seconds and percentages, which bind in a long run alone.
  for (const rows of isLongRun ? [1, 100] : []) {
    it(`by changes of ${String(rows)} rows: goodput at nine tenths of the peak, flat memory, and quick refusals`, async () => {
      await withService({}, (all) => measureOverload(all, rows));
    });
  }
});

const peakConnections = 64;
const overloadFactor = 5;
/** More than a shop may have in flight (`IN_FLIGHT_SHOP_MAX`), so that some are refused. */
const overloadConnections = 2_400;
const goodputMin = 0.9;
const refusalMsMax = 50;
const growthMax = 1.1;

/**
 * Peak goodput by a closed loop, then arrivals at five times that rate, in slices of ten seconds. The clients share
 * the machine's cores with the service: what a refusal costs, even on their side, is taken from the goodput.
 */
async function measureOverload({ service, database, generator, port }: Overloaded, rows: number): Promise<void> {
  const shop = await createTestShop(database, { materials: 1_000, locations: rows, rateLimitPoints: 1_000_000_000 });
  const messages = shop.materialIds.map((id) => addOneAsText(shop, id));
  const call = { port, messages, requestsMax: Number.MAX_SAFE_INTEGER };
  const size = sizeOf({ small: 10, long: 600 });
  await counting({ test: 'T13', unit: `seconds of overload by ${String(rows)} rows`, size }, async (count) => {
    const sliceSeconds = Math.min(10, size);
    const results: OverloadResult[] = [];
    const run = async (more: { connections: number; rate?: number; forMs: number }) => {
      const result = await generator.run({ ...call, ...more });
      results.push(result);
      return { result, goodput: (result.executedInTime * 1_000) / result.tookMs };
    };
    await run({ connections: peakConnections, forMs: 3_000 });
    const { goodput: peak } = await run({ connections: peakConnections, forMs: sliceSeconds * 1_000 });
    const rate = overloadFactor * peak;
    const slices: { result: OverloadResult; goodput: number }[] = [];
    const memory: number[] = [];
    while (count.left() > 0) {
      slices.push(await run({ connections: overloadConnections, rate, forMs: sliceSeconds * 1_000 }));
      memory.push(megabytesOf(service));
      count.add(sliceSeconds);
    }
    const executed = results.reduce((sum, result) => sum + expectHonest(result, 0), 0);
    expect(await totalsOf(database, [shop])).to.equal(executed * rows);
    const standing = await refuseAll(service, () => run({ connections: peakConnections, rate: peak, forMs: 5_000 }));
    count.judged();
    const goodput = slices.reduce((sum, slice) => sum + slice.goodput, 0) / slices.length;
    const refused = slices.flatMap(({ result }) => result.refusedMs?.p99 ?? []);
    const offered = slices.reduce((sum, { result }) => sum + answersOf(result) / (result.tookMs / 1_000), 0);
    const early = memory.slice(0, Math.ceil(memory.length / 4));
    return [
      { name: 'peak (a second)', value: Math.round(peak) },
      { name: 'answers (a second)', value: Math.round(offered / slices.length) },
      { name: 'goodput (a second)', value: Math.round(goodput) },
      { name: 'goodput lost, of the peak', value: round(1 - goodput / peak), most: round(1 - goodputMin) },
      // The clients of a slice begin all at once, and what is beyond the bounds is refused then.
      {
        name: 'refusal p99, at the start of a slice (ms)',
        value: refused.length === 0 ? 'none' : Math.max(...refused),
      },
      { name: 'refusal p99, while all are refused (ms)', value: standing.p99, most: refusalMsMax },
      { name: 'API and worker (MiB), first quarter', value: Math.max(...early) },
      { name: 'memory, times that', value: round(Math.max(...memory) / Math.max(...early)), most: growthMax },
    ];
  });
}

/** While no worker is to be seen, all that comes is refused: how soon. */
async function refuseAll(service: Service, ask: () => Promise<{ result: OverloadResult }>) {
  const [baseUrl = ''] = service.baseUrls;
  await freezeWorkers(service, service.workers);
  const isRefusing = async () => (await request(baseUrl, { path: '/readyz' })).status === 503;
  await until(isRefusing, { deadlineMs: soonMsMax, what: 'the service to refuse writes' });
  const { result } = await ask();
  for (const worker of service.workers) worker.kill('SIGCONT');
  expect({ ...result.byStatus, 503: 0 }, 'all are refused').to.deep.equal({ 503: 0 });
  expect([result.withoutRetryAfter, result.broken]).to.deep.equal([0, 0]);
  return result.refusedMs ?? expect.fail('nothing was refused');
}

/** Expects executions, refusals and nothing else; returns how many were executed. */
function expectHonest(result: OverloadResult, refusedMin = 1): number {
  const { '200': executed = 0, '503': refused = 0, '429': limited = 0, ...others } = result.byStatus;
  expect([others, result.withoutRetryAfter, result.broken]).to.deep.equal([{}, 0, 0]);
  expect(executed).to.be.greaterThan(0);
  expect(refused + limited).to.be.at.least(refusedMin);
  return executed;
}

function answersOf({ byStatus }: OverloadResult): number {
  return Object.values(byStatus).reduce((sum, answers) => sum + answers, 0);
}

/** A change of each shop in turn, over all of its materials. */
function byTurns(shops: TestShop[]): string[] {
  const rounds = Math.max(...shops.map(({ materialIds }) => materialIds.length));
  return Array.from({ length: rounds }, (_, round) =>
    shops.flatMap((shop) => shop.materialIds.slice(round, round + 1).map((id) => addOneAsText(shop, id))),
  ).flat();
}

/** A change that adds one unit at each of the shop's locations. */
function addOneAsText({ locationIds, writeKey }: TestShop, materialId: string): string {
  const body = JSON.stringify({ updates: locationIds.map((locationId) => ({ locationId, delta: 1 })) });
  return (
    `PATCH ${inventoryPath(materialId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${writeKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`
  );
}

async function totalsOf(database: Database, shops: TestShop[]): Promise<number> {
  let sum = 0;
  for (const shop of shops) for (const id of shop.materialIds) sum += await totalOf(database, shop, id);
  return sum;
}

/**
 * How many operations of each shop wait in the queues at one moment: one script reads KEYS and the lists. What a worker
 * has fetched is not counted, because it may have been answered.
 */
const countWaiting = `
  local byShop = {}
  for _, list in ipairs(redis.call('KEYS', ARGV[1] .. ':*:wait')) do
    local queue = string.sub(list, 1, -6)
    local shop = string.match(string.sub(queue, #ARGV[1] + 2), '^%d+')
    for _, job in ipairs(redis.call('LRANGE', list, 0, -1)) do
      local data = redis.call('HGET', queue .. ':' .. job, 'data')
      local operations = data and cjson.decode(data).operations or {}
      byShop[shop] = (byShop[shop] or 0) + #operations
    end
  end
  local counts = {}
  for _, count in pairs(byShop) do counts[#counts + 1] = count end
  return counts`;

function watchWaiting(redis: Redis, isOver: () => boolean) {
  let most = 0;
  let mostOfAShop = 0;
  const watch = async () => {
    while (!isOver()) {
      const counts = (await redis.eval(countWaiting, 0, queuePrefix)) as number[];
      const all = counts.reduce((sum, count) => sum + count, 0);
      most = Math.max(most, all);
      mostOfAShop = Math.max(mostOfAShop, ...counts);
    }
  };
  return { most: () => most, mostOfAShop: () => mostOfAShop, ended: watch() };
}

async function untilIdle({ redisUrl }: Service): Promise<void> {
  await until(async () => (await pipelineKeys(redisUrl)).length === 0, {
    deadlineMs: soonMsMax,
    what: 'every material to be idle',
  });
}

/** What the processes hold in memory, by Linux' own count; 0 elsewhere, where nothing is measured. */
function megabytesOf({ apis, workers }: Service): number {
  if (process.platform !== 'linux') return 0;
  const pages = [...apis, ...workers].map(
    ({ pid }) => readFileSync(`/proc/${String(pid)}/statm`, 'utf8').split(' ')[1],
  );
  return Math.round(pages.reduce((sum, resident) => sum + Number(resident) * 4_096, 0) / 1_048_576);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
