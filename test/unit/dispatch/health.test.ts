import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { startHealth } from '../../../api/dispatch/health.js';
import type { Health } from '../../../api/dispatch/health.js';
import { defineScripts, runScript } from '../../../shared/queue/run-script.js';
import { tellRefusal } from '../../../shared/queue/refusal.js';
import { connectProducerRedis, untilReady } from '../../../shared/redis/connections.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { standStill } from '../../support/processes/stand-still.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;
/** Longer than a worker counts after it was last heard of. */
const workerLastsMs = 2_000;
/** They come every 100 ms while none is well. */
const severalQuestionsMs = 500;
const hourMs = 3_600_000;
/** An answer of Redis' clock may be this old: a question takes long on a machine that stands still now and then. */
const nearMs = 60_000;

describe('what the API knows of the pipeline behind it', () => {
  let server: TestRedis;
  let redis: Redis;
  let health: Health | undefined;
  /** Called for each line of the log. */
  let tell: (line: string) => void;
  const now = Date.now;
  before(async () => (server = await startTestRedis()));
  after(() => server.stop());
  beforeEach(async () => {
    tell = () => undefined;
    await server.flush();
    redis = connectProducerRedis(server.url, () => undefined);
    await untilReady(redis);
    defineScripts(redis);
  });
  afterEach(() => {
    Date.now = now;
    health?.stop();
    redis.disconnect();
  });

  const start = async (
    askPostgres: () => Promise<string | undefined> = () => Promise.resolve(undefined),
    level = 'warn',
  ) => (health = await startHealth(redis, askPostgres, pino({ level }, { write: (line: string) => tell(line) })));
  /** A worker tells its refusal in each cycle. */
  const tellUntilAway = (started: Health) =>
    until(
      async () => {
        await tellRefusal(redis, 'No space left on device');
        return !started.ready().postgres;
      },
      { deadlineMs: soonMsMax, what: 'Postgres to be away' },
    );
  const beat = (database = '') => runScript(redis, 'rmBeat', 'worker', 60_000, database);

  it('is the time by the clock of Redis, whatever the clock of this machine says', async () => {
    for (const wrongByMs of [-hourMs, hourMs]) {
      Date.now = () => now() + wrongByMs;
      const started = await start();
      const toldMs = started.redisNowMs();
      started.stop();
      Date.now = now;
      expect(Math.abs(toldMs - now()), 'an operation accepted an hour ago would be expired').to.be.below(nearMs);
    }
  });

  it('is that time still where the clock of this machine is set in between two questions', async () => {
    const started = await start();
    Date.now = () => now() + hourMs;
    const toldMs = started.redisNowMs();
    Date.now = now;
    expect(Math.abs(toldMs - now()), 'an operation would expire an hour too late').to.be.below(nearMs);
  });

  it('is that time also from an answer that this process could not read for a while', async () => {
    const started = await start();
    const offsetMs = () => started.redisNowMs() - performance.now();
    const beforeMs = offsetMs();
    await beat();
    // Asks a question that is answered during the stand-still.
    redis.emit('ready');
    standStill(4_000);
    await until(() => started.pipeline()?.liveWorkers === 1, { deadlineMs: soonMsMax, what: 'the answer' });
    // Upwards it may go: the answer before may have lain there for a while as well, as no test knows.
    expect(offsetMs() - beforeMs, 'what is accepted would be dated back by half of it').to.be.above(-1_000);
    const toldMs = started.redisNowMs();
    const [seconds, micros] = await redis.time();
    expect(toldMs, 'it is never ahead').to.be.at.most(Number(seconds) * 1_000 + Number(micros) / 1_000 + 1);
  });

  it('is that time also after the clock of Redis was set, forwards or backwards', async () => {
    let setMs = 0;
    const scripts = redis as unknown as Record<'rmStatus', (...args: unknown[]) => Promise<[number, ...unknown[]]>>;
    const ask = scripts.rmStatus.bind(redis);
    scripts.rmStatus = async (...args) => {
      const [nowMs, ...status] = await ask(...args);
      return [nowMs + setMs, ...status];
    };
    const started = await start();
    for (setMs of [hourMs, 0]) {
      const isToldRight = () => Math.abs(started.redisNowMs() - now() - setMs) < nearMs;
      await until(isToldRight, { deadlineMs: soonMsMax, what: 'that clock: what is accepted would expire at once' });
    }
  });

  it('is asked for at once behind a new connection, and not once nobody wants to know', async () => {
    const started = await start();
    let asked = 0;
    const count = () => (asked += 1);
    Reflect.set(redis, 'rmStatus', count);
    redis.emit('ready');
    expect(asked).to.equal(1);
    started.stop();
    // The question under way ends: one at a time is asked.
    await new Promise(setImmediate);
    redis.emit('ready');
    expect(asked).to.equal(1);
  });

  it('is nothing that was heard before the connection broke, from the moment that there is another', async () => {
    await beat();
    const started = await start();
    const ready = () => started.ready();
    expect(ready()).to.deep.equal({ postgres: true, redis: true, worker: true });
    const atOnce = new Promise<ReturnType<typeof ready>>((resolve) => {
      redis.once('ready', () => {
        resolve(ready());
      });
    });
    // As if another Redis took over that no worker has reached yet.
    await runScript(redis, 'rmBeat', 'worker', 0, '');
    redis.disconnect(true);
    expect(await atOnce).to.deep.include({ redis: false, worker: false });
    await until(() => ready().redis, { deadlineMs: soonMsMax, what: 'the first answer behind the new connection' });
    expect(ready().worker).to.equal(false);
  });

  it('refuses for what is away, each by its name, and for nothing else', async () => {
    let isPostgresAway = true;
    const started = await start(() =>
      isPostgresAway ? Promise.reject(new Error('away')) : Promise.resolve(undefined),
    );
    const refusal = (shopId: number) => started.refusal(shopId);
    expect(refusal(1)).to.match(/database/);
    isPostgresAway = false;
    await until(() => refusal(1)?.includes('worker'), { deadlineMs: soonMsMax, what: 'Postgres to be back' });
    await beat();
    await until(() => refusal(1) === undefined, { deadlineMs: soonMsMax, what: 'the worker to be seen' });
    await server.kill();
    await until(() => refusal(1)?.includes('queue'), { deadlineMs: soonMsMax, what: 'Redis to be seen away' });
    expect(started.pipeline(), 'nobody knows what is queued').to.equal(undefined);
    await server.restart();
  });

  it('is logged once where the last worker is gone, when writes are refused, and again when it is over', async () => {
    const said: (string | undefined)[] = [];
    const refusals: (string | undefined)[] = [];
    const started = await start(undefined, 'info');
    tell = (line) => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
      said.push(msg, err?.message);
      refusals.push(started.refusal(1));
    };
    await sleep(severalQuestionsMs);
    await beat();
    await until(() => started.refusal(1) === undefined, { deadlineMs: soonMsMax, what: 'the worker to be seen' });
    expect(said, 'of one that starts after this process').to.deep.equal([]);
    await runScript(redis, 'rmBeat', 'worker', 0, '');
    await until(() => said.length > 0, { deadlineMs: soonMsMax, what: 'the warning' });
    await sleep(severalQuestionsMs);
    await beat();
    await until(() => said.length > 2, { deadlineMs: soonMsMax, what: 'that it is over' });
    expect(said).to.deep.equal([
      'The queue is not served.',
      'no worker of this database is alive and can use it',
      'This is over: The queue is not served.',
      undefined,
    ]);
    expect(refusals).to.deep.equal(['No worker of this database is running, or none can use it.', undefined]);
  });

  it('is not logged of workers that come back with Redis, later than they count as gone', async () => {
    await beat();
    const started = await start();
    const said: string[] = [];
    tell = (line) => said.push(line);
    await runScript(redis, 'rmBeat', 'worker', 0, '');
    redis.disconnect();
    await sleep(workerLastsMs);
    await redis.connect();
    await until(() => started.ready().redis, { deadlineMs: soonMsMax, what: 'Redis to be back' });
    expect(started.ready().worker).to.equal(false);
    expect(said.join('')).to.not.contain('no worker of this database');
  });

  it('is not logged as over while Redis is back, and still no worker', async () => {
    const said: string[] = [];
    const started = await start(undefined, 'info');
    tell = (line) => said.push((JSON.parse(line) as { msg: string }).msg);
    await until(() => said.length > 0, { deadlineMs: soonMsMax, what: 'the warning' });
    const connected = once(redis, 'ready');
    redis.disconnect(true);
    await connected;
    await until(() => started.ready().redis, { deadlineMs: soonMsMax, what: 'Redis to be back' });
    await sleep(severalQuestionsMs);
    const over = 'This is over: The queue is not served.';
    expect(said).to.not.include(over);
    await beat();
    await until(() => said.includes(over), { deadlineMs: soonMsMax, what: 'that it is over' });
  });

  it('is that Postgres refuses what workers write, while one of them says so, and the log has their reason', async () => {
    await beat();
    const said: string[] = [];
    tell = (line) => said.push(line);
    const started = await start();
    await tellUntilAway(started);
    expect(started.refusal(1)).to.match(/database/);
    expect(said.join('')).to.contain('workers are refused what they write: No space left on device');
    await until(() => started.refusal(1) === undefined, { deadlineMs: soonMsMax, what: 'the refusal to lapse' });
  });

  it('is no more that workers are refused once Redis, in which they say so, is away', async () => {
    const started = await start();
    await tellUntilAway(started);
    redis.disconnect();
    await until(() => started.ready().postgres, { deadlineMs: soonMsMax, what: 'Postgres to be back' });
    expect(started.ready().redis).to.equal(false);
  });

  it('is none that workers of another database serve, which would book there what was sent here', async () => {
    await beat('theirs');
    const started = await start(() => Promise.resolve('ours'));
    expect(started.refusal(1)).to.equal('No worker of this database is running, or none can use it.');
    expect(started.ready()).to.deep.equal({ postgres: true, redis: true, worker: false });
    await runScript(redis, 'rmBeat', 'worker', 0, '');
    await beat('ours');
    await until(() => started.refusal(1) === undefined, { deadlineMs: soonMsMax, what: 'our worker to be seen' });
    /** What is refused at the time when the log tells of theirs. */
    const refusals: (string | undefined)[] = [];
    tell = () => refusals.push(started.refusal(1));
    await runScript(redis, 'rmBeat', 'worker', 0, '');
    await beat('theirs');
    await until(() => refusals.length > 0, { deadlineMs: soonMsMax, what: 'theirs to be seen' });
    expect(refusals, 'ours were seen a moment ago').to.deep.equal([
      'No worker of this database is running, or none can use it.',
    ]);
  });

  it('is still so for a process that stood still, which has not been there to hear', async () => {
    await beat();
    const started = await start();
    standStill(3_000);
    expect(started.refusal(1)).to.equal(undefined);
  });

  it('is that workers live also after a time in which the whole machine stood still, and their beats ran out', async () => {
    await beat();
    const started = await start();
    expect(started.refusal(1)).to.equal(undefined);
    await runScript(redis, 'rmBeat', 'worker', 1_000, '');
    standStill(1_500);
    await until(() => started.pipeline()?.liveWorkers === 0, { deadlineMs: soonMsMax, what: 'the next question' });
    expect(started.refusal(1)).to.equal(undefined);
    await until(() => started.refusal(1)?.includes('worker'), {
      deadlineMs: soonMsMax,
      what: 'that none has come back',
    });
  });

  it('is out of date soon: a Postgres that falls silent counts as away, though it has refused nothing', async () => {
    let isSilent = false;
    await beat();
    const started = await start(() => (isSilent ? new Promise(() => undefined) : Promise.resolve(undefined)));
    expect(started.refusal(1)).to.equal(undefined);
    isSilent = true;
    await until(() => started.refusal(1)?.includes('database'), { deadlineMs: soonMsMax, what: 'the silence to show' });
    const areOthersThere = () => started.ready().redis && started.ready().worker;
    await until(areOthersThere, { deadlineMs: soonMsMax, what: 'the others, of which none is silent' });
    expect(started.ready().postgres).to.equal(false);
  });
});
