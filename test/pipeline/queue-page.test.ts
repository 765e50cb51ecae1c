import { expect } from 'chai';
import { Redis } from 'ioredis';
import { jobsSentSharedMax } from '../../api/dispatch/shop-limits.js';
import type { Database } from '../../shared/database/connect.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { findChromium, startChromium } from '../support/browser.js';
import { addOne } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import type { Answer } from '../support/http/http.js';
import { holdWorkers, keepInTime } from '../support/processes/hold-workers.js';
import { monitorRedis } from '../support/redis/redis-monitor.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const token = 'a-token-for-this-test';
const bearer = { authorization: `Bearer ${token}` };
const soonMsMax = 15_000;
/** Queues that the page shows at most. */
const shownMax = 100;
const chromium = findChromium();

interface ShownQueue {
  name: string;
  readOnlyMode: boolean;
  counts: Record<string, number>;
  jobs: { id: string; data: { operations: unknown[] } }[];
}

describe('the queue page', () => {
  let service: Service;
  let database: Database;
  let redis: Redis;
  let shop: TestShop;
  before(async () => {
    // A browser looks at what waits, and may take its time.
    const patience = { WAIT_MS: '40000', SHUTDOWN_TIMEOUT_MS: '45000' };
    service = await startService({ apiEnv: { ADMIN_PORT: '0', ADMIN_TOKEN: token, ...patience } });
    database = connectForTest(service.databaseUrl);
    redis = new Redis(service.redisUrl, { retryStrategy: () => null });
    shop = await createTestShop(database, { materials: 3 });
  });
  after(async () => {
    redis.disconnect();
    await database.destroy();
    await service.stop();
  });

  const pageUrl = () => `${service.apis[0]?.adminUrl ?? ''}/queues`;
  const nameOf = (index: number) => queueName({ shopId: shop.shopId, materialId: shop.materialIds[index] ?? '' });
  const queues = async (active = ''): Promise<ShownQueue[]> => {
    const query = new URLSearchParams({ activeQueue: active, page: '1', jobsPerPage: '10', status: 'latest' });
    const response = await fetch(`${pageUrl()}/api/queues?${query.toString()}`, { headers: bearer });
    expect(response.status).to.equal(200);
    return ((await response.json()) as { queues: ShownQueue[] }).queues;
  };
  /** Keeps changes waiting behind a stopped worker while `look` runs; returns their answers. */
  const whileWaiting = async (look: () => Promise<void>): Promise<Answer[]> => {
    // The page has its own connection: though it works, the service may still be looking for a Redis that was away.
    await untilServing(service);
    const waiting = () => redis.zcard(keys.scheduled);
    await until(async () => (await waiting()) === 0, {
      deadlineMs: soonMsMax,
      what: 'what was there before to be done',
    });
    await holdWorkers(service, redis);
    const early: string[] = [];
    const sent = shop.materialIds.map(async (materialId) => {
      const answer = await addOne(service.baseUrls[0] ?? '', shop, { materialId });
      early.push(answer.text);
      return answer;
    });
    try {
      await until(async () => (await waiting()) === 3, {
        deadlineMs: soonMsMax,
        what: () => `three to wait; answered instead: ${early.join(' ')}`,
      });
      await look();
    } finally {
      service.workers[0]?.kill('SIGCONT');
    }
    return Promise.all(sent);
  };
  /** What the page's connection sends during `look`, and its scripts call; others write, as the API's own look does. */
  const calledByPage = async (look: () => Promise<void>): Promise<Set<string>> => {
    const bySource = new Map<string, Set<string>>();
    let source = '';
    let end = (): void => undefined;
    const isSeen = new Promise<void>((resolve) => (end = resolve));
    const monitor = await monitorRedis(service.redisUrl, ({ name, args, source: from }) => {
      // Redis shows a script before what it calls, and nothing of others between them.
      if (from !== 'lua') source = from;
      bySource.set(source, (bySource.get(source) ?? new Set()).add(name));
      if (args.includes('all was seen')) end();
    });
    try {
      await look();
      await redis.echo('all was seen');
      await isSeen;
    } finally {
      monitor.stop();
    }
    const clients = (await redis.client('LIST')) as string;
    const page = / addr=(\S+) .* name=raw-materials-queue-page /.exec(clients)?.[1] ?? '';
    return bySource.get(page) ?? new Set();
  };
  const writing = async (commands: Iterable<string>) => {
    const described = await redis.command('INFO', ...commands);
    const writes = described.filter((each) => Array.isArray(each) && (each[2] as string[]).includes('write'));
    return writes.map((each) => (each as [string])[0]);
  };
  const lookAtAll = async () => {
    const shown = await queues(nameOf(1));
    expect(shown.map(({ name }) => name)).to.have.members([nameOf(0), nameOf(1), nameOf(2)]);
    for (const { readOnlyMode, counts } of shown) {
      expect(readOnlyMode).to.equal(true);
      expect(counts).to.have.property('waiting', 1);
    }
    const [job, ...others] = shown.find(({ name }) => name === nameOf(1))?.jobs ?? [];
    expect(others).to.deep.equal([]);
    expect(job?.data.operations).to.have.length(1);
    for (const path of [`api/queues/${nameOf(1)}/${job?.id ?? ''}`, 'api/redis/stats', 'api/job-schedulers']) {
      const response = await fetch(`${pageUrl()}/${path}`, { headers: bearer });
      expect(response.status, `${path}: ${await response.text()}`).to.equal(200);
    }
  };
  const keysLeft = async () =>
    (await redis.keys('*')).filter((key) => !/:(workers|databases|wake)$|^raw-materials:limit:/.test(key));

  it('shows the materials that have work now with what waits, and leaves nothing in Redis', async () => {
    expect(await queues()).to.deep.equal([]);
    const answers = await whileWaiting(async () => {
      const unseen = await redis.keys('*');
      const called = await calledByPage(lookAtAll);
      expect(unseen).to.include.members(await redis.keys('*'));
      expect(called).to.include('evalsha').and.to.include('lrange');
      expect(await writing(called)).to.deep.equal([]);
    });
    for (const { status } of answers) expect(status).to.equal(200);
    await until(async () => (await queues()).length === 0, { deadlineMs: soonMsMax, what: 'an empty page' });
    expect(await keysLeft()).to.deep.equal([]);
  });

  it('takes one connection, however many materials and lookers there are', async () => {
    const connections = async () => {
      const clients = (await redis.client('LIST')) as string;
      return [...clients.matchAll(/ name=raw-materials-queue-page /g)].length;
    };
    await Promise.all(Array.from({ length: 10 }, () => queues()));
    expect(await connections()).to.equal(1);
    // No more jobs of one shop beside others would leave the API process.
    const materials = jobsSentSharedMax;
    const enough = { length: Math.ceil((1.2 * shownMax) / materials) };
    const shops = await Promise.all(Array.from(enough, () => createTestShop(database, { materials })));
    await holdWorkers(service, redis);
    // Otherwise what a busy machine sends some seconds after the first is refused, as behind a backlog that is late.
    for (const { shopId } of shops) await keepInTime(redis, shopId);
    const sent = shops.flatMap((each) =>
      each.materialIds.map((materialId) => addOne(service.baseUrls[0] ?? '', each, { materialId })),
    );
    try {
      await until(async () => (await queues()).length === shownMax, {
        deadlineMs: soonMsMax,
        what: 'as many as are shown',
      });
      expect(await connections()).to.equal(1);
    } finally {
      service.workers[0]?.kill('SIGCONT');
    }
    for (const { status, text } of await Promise.all(sent)) expect(status, text).to.equal(200);
    await until(async () => (await keysLeft()).length === 0, { deadlineMs: soonMsMax, what: 'an idle Redis' });
  });

  it('opens to the token alone, as a bearer token or a password', async () => {
    const ask = async (authorization?: string) =>
      (await fetch(pageUrl(), { headers: authorization === undefined ? {} : { authorization } })).status;
    const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
    expect(await ask()).to.equal(401);
    expect(await ask('Bearer another-token-of-no-use')).to.equal(401);
    expect(await ask(`Bearer ${shop.writeKey}`)).to.equal(401);
    expect(await ask(basic(`${token}:`))).to.equal(401);
    expect(await ask(bearer.authorization)).to.equal(200);
    expect(await ask(basic(`anyone:${token}`))).to.equal(200);
    const { headers } = await fetch(pageUrl());
    expect(headers.get('www-authenticate')).to.match(/^Basic /);
    expect(headers.get('content-security-policy')).to.match(/frame-ancestors 'none'/);
  });

  it('changes nothing: whatever its library offers to change is refused', async () => {
    const answers = await whileWaiting(async () => {
      const name = encodeURIComponent(nameOf(0));
      const changes: [string, string][] = [
        ['PUT', `api/queues/${name}/pause`],
        ['PUT', 'api/queues/pause'],
        ['PUT', `api/queues/${name}/empty`],
        ['POST', `api/queues/${name}/add`],
        ['PUT', `api/queues/${name}/obliterate`],
      ];
      for (const [method, path] of changes) {
        const response = await fetch(`${pageUrl()}/${path}`, { method, headers: bearer });
        expect(response.status, `${method} ${path}`).to.equal(405);
      }
      expect(await queues()).to.have.length(3);
    });
    for (const { status } of answers) expect(status).to.equal(200);
  });

  it('comes back after Redis was away, and says so meanwhile', async () => {
    await queues();
    await service.redis?.kill();
    const ask = async () => (await fetch(`${pageUrl()}/api/queues`, { headers: bearer })).status;
    await until(async () => (await ask()) === 503, { deadlineMs: soonMsMax, what: 'the page to say so' });
    await service.redis?.restart();
    await until(async () => (await ask()) === 200, { deadlineMs: soonMsMax, what: 'the page' });
    redis = new Redis(service.redisUrl, { retryStrategy: () => null });
  });

  it('is shown by a real browser, which fetches nothing from elsewhere', async () => {
    if (chromium === undefined) {
      console.log('        no Chromium is installed: not tried (CHROMIUM_PATH names one)');
      return;
    }
    const browser = await startChromium(chromium);
    try {
      const context = await browser.newContext({ httpCredentials: { username: 'anyone', password: token } });
      const page = await context.newPage();
      const hosts = new Set<string>();
      // What the page's policy stops has not left the browser.
      page.on('requestfinished', (sent) => hosts.add(new URL(sent.url()).origin));
      page.on('requestfailed', (sent) => {
        if (sent.failure()?.errorText !== 'csp') hosts.add(new URL(sent.url()).origin);
      });
      const answers = await whileWaiting(async () => {
        await page.goto(pageUrl());
        await page.getByText(nameOf(0)).first().waitFor({ state: 'attached', timeout: soonMsMax });
      });
      for (const { status } of answers) expect(status).to.equal(200);
      expect([...hosts]).to.deep.equal([new URL(pageUrl()).origin]);
    } finally {
      await browser.close();
    }
  });
});

describe('the queue page without a token', () => {
  let service: Service;
  before(async () => (service = await startService({ workers: 0, apiEnv: { ADMIN_PORT: '0' } })));
  after(() => service.stop());

  it('is not there', async () => {
    const { status } = await fetch(`${service.apis[0]?.adminUrl ?? ''}/queues`, { headers: bearer });
    expect(status).to.equal(404);
  });

  it('with a token that is too short, the process says so and does not start', async () => {
    const failure = await service.startApi({ ADMIN_TOKEN: 'short' }).then(
      () => '',
      (error: unknown) => String(error),
    );
    expect(failure).to.match(/ADMIN_TOKEN \(its value is not shown\) must have at least 16 characters/);
  });
});
