import { expect } from 'chai';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { openQueueLink } from '../../../api/dispatch/queue-link.js';
import type { QueueLink } from '../../../api/dispatch/queue-link.js';
import { startFaultProxy } from '../../support/faults/fault-proxy.js';
import type { FaultProxy } from '../../support/faults/fault-proxy.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;

describe('the subscription to replies', () => {
  let server: TestRedis;
  let proxy: FaultProxy;
  let link: QueueLink | undefined;
  before(async () => {
    server = await startTestRedis();
    proxy = await startFaultProxy({ port: Number(new URL(server.url).port) });
  });
  afterEach(async () => {
    link?.close();
    await proxy.heal();
  });
  after(async () => {
    await proxy.close();
    await server.stop();
  });

  it('is another one soon after its connection was lost at the other end alone, though it owes nobody an answer', async () => {
    link = await openQueueLink(proxy.through(server.url), pino({ level: 'silent' }));
    const observer = new Redis(server.url);
    const subscribed = async () => (await observer.pubsub('CHANNELS', '*')).length;
    try {
      expect(await subscribed()).to.equal(1);
      await proxy.inject({ kind: 'half-open', gone: 'server' });
      await until(async () => (await subscribed()) === 0, { deadlineMs: soonMsMax, what: 'Redis to have lost it' });
      await until(async () => (await subscribed()) === 1, {
        deadlineMs: soonMsMax,
        what: 'the replies to be heard again',
      });
    } finally {
      observer.disconnect();
    }
  });

  it('is there again with its connection, not only when that is looked after the next time', async () => {
    const { setInterval } = globalThis;
    // Nothing is looked after now and then.
    globalThis.setInterval = ((_look: unknown, everyMs: number) =>
      setInterval(() => undefined, everyMs)) as typeof setInterval;
    try {
      link = await openQueueLink(proxy.through(server.url), pino({ level: 'silent' }));
    } finally {
      globalThis.setInterval = setInterval;
    }
    await proxy.inject({ kind: 'refuse' });
    await until(() => link?.connected().replies === false, { deadlineMs: soonMsMax, what: 'the loss to be noticed' });
    await proxy.heal();
    await until(() => link?.connected().replies, { deadlineMs: soonMsMax, what: 'the replies to be heard again' });
  });

  it('that Redis refuses is there once Redis allows it, at the start or later', async () => {
    const admin = new Redis(server.url);
    try {
      await admin.acl('SETUSER', 'default', 'resetchannels');
      link = await openQueueLink(server.url, pino({ level: 'silent' }));
      expect(link.connected().replies).to.equal(false);
      const heard = () => link?.connected().replies === true;
      await admin.acl('SETUSER', 'default', 'allchannels');
      await until(heard, { deadlineMs: soonMsMax, what: 'the replies to be heard' });
      // Redis then ends the connection, and refuses the next one's subscription: it must not end the process.
      await admin.acl('SETUSER', 'default', 'resetchannels');
      await until(() => !heard(), { deadlineMs: soonMsMax, what: 'the loss to be noticed' });
      await admin.acl('SETUSER', 'default', 'allchannels');
      await until(heard, { deadlineMs: soonMsMax, what: 'the replies to be heard again' });
    } finally {
      await admin.acl('SETUSER', 'default', 'allchannels');
      admin.disconnect();
    }
  });

  it('is not said to be there while its connection is lost', async () => {
    link = await openQueueLink(proxy.through(server.url), pino({ level: 'silent' }));
    expect(link.connected().replies).to.equal(true);
    await proxy.inject({ kind: 'refuse' });
    await until(() => link?.connected().replies === false, { deadlineMs: soonMsMax, what: 'the loss to be noticed' });
    await proxy.heal();
    await until(() => link?.connected().replies, { deadlineMs: soonMsMax, what: 'the replies to be heard again' });
  });
});

describe('a queue whose Redis is away', () => {
  it('is said to be once, however often it is tried, and that this is over once it is there again', async () => {
    const server = await startTestRedis();
    const said: string[] = [];
    const write = (line: string) => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
      said.push(err?.message.includes('ECONNREFUSED') === true ? `${msg} ECONNREFUSED` : msg);
    };
    const link = await openQueueLink(server.url, pino({}, { write }));
    let tries = 0;
    link.redis.on('reconnecting', () => (tries += 1));
    const of = (what: string) => said.filter((each) => each.includes(what));
    const over = 'This is over: The queue cannot reach Redis.';
    try {
      await server.kill();
      await until(() => tries >= 5, { deadlineMs: soonMsMax, what: 'the fifth try' });
      expect(of('ECONNREFUSED')).to.deep.equal(['The queue cannot reach Redis. ECONNREFUSED']);
      expect(of(over)).to.deep.equal([]);
      await server.restart();
      await until(() => of(over).length > 0, { deadlineMs: soonMsMax, what: 'the end to be said' });
      expect(link.connected().producer).to.equal(true);
      expect(of(over)).to.deep.equal([over]);
    } finally {
      link.close();
      await server.stop();
    }
  });
});
