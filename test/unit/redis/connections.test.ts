import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { reasonOf } from '../../../shared/domain/reason-of.js';
import { ServerUnusable } from '../../../shared/domain/server-unusable.js';
import { connectProducerRedis, connectWorkerRedis, onAllReady, untilReady } from '../../../shared/redis/connections.js';
import { startTestRedis } from '../../support/processes/servers.js';
import { standStill } from '../../support/processes/stand-still.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 15_000;

describe('a Redis that is away', () => {
  it('is said to be once, however often it is tried, and once more after it was there', async () => {
    const server = await startTestRedis();
    const said: string[] = [];
    let tries = 0;
    const redis = connectProducerRedis(server.url, ({ message }) => said.push(message));
    redis.on('reconnecting', () => (tries += 1));
    const refusals = () => said.filter((message) => message.includes('ECONNREFUSED')).length;
    const away = async () => {
      tries = 0;
      await server.kill();
      await until(() => tries >= 5, { deadlineMs: soonMsMax, what: 'the fifth try' });
    };
    try {
      await untilReady(redis);
      await away();
      expect(refusals()).to.equal(1);
      await server.restart();
      await untilReady(redis);
      await away();
      expect(refusals()).to.equal(2);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});

describe('a Redis that is away for more than one reason', () => {
  it('is said to be once for each, however they alternate', async () => {
    const server = await startTestRedis();
    const said: string[] = [];
    const redis = connectProducerRedis(server.url, ({ message }) => said.push(message));
    try {
      await untilReady(redis);
      for (const reason of ['ENETUNREACH', 'ETIMEDOUT', 'ENETUNREACH', 'ETIMEDOUT'])
        redis.emit('error', new Error(reason));
      expect(said).to.deep.equal(['ENETUNREACH', 'ETIMEDOUT']);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});

describe('a command that fails with its connection to Redis', () => {
  it('has that as its reason, whether it was sent or not', async () => {
    const server = await startTestRedis();
    const redis = connectProducerRedis(server.url, () => undefined);
    const reason = () => redis.ping().catch(reasonOf);
    const lost = 'the connection to Redis is lost';
    try {
      expect(await reason(), 'before there is one').to.equal(lost);
      await untilReady(redis);
      process.kill(server.pid, 'SIGSTOP');
      const asked = reason();
      await server.kill();
      expect(await asked, 'while it is under way').to.equal(lost);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});

describe('several connections to Redis', () => {
  it('are said to be ready when the last of them is, each time', () => {
    const [first, second] = [new EventEmitter(), new EventEmitter()];
    const connections = [first, second].map((each) => Object.assign(each, { status: 'connecting' }));
    let times = 0;
    onAllReady(connections as unknown as Redis[], () => (times += 1));
    const become = (index: number, status: string) => {
      Object.assign(connections[index] ?? {}, { status });
      connections[index]?.emit(status);
      return times;
    };
    expect([become(0, 'ready'), become(1, 'ready')]).to.deep.equal([0, 1]);
    expect([become(0, 'close'), become(1, 'close'), become(1, 'ready'), become(0, 'ready')]).to.deep.equal([
      1, 1, 1, 2,
    ]);
  });
});

describe('a connection to Redis that owes an answer', () => {
  it('is kept by a process that stood still for longer than a silence may be: the answer lies there', async () => {
    const server = await startTestRedis();
    let losses = 0;
    const redis = connectProducerRedis(server.url, () => undefined);
    redis.on('close', () => (losses += 1));
    try {
      await untilReady(redis);
      const asked = redis.ping();
      standStill(3_000);
      expect(await asked).to.equal('PONG');
      expect(losses).to.equal(0);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });

  it('is given up, and made anew, also where it is silent from the start', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const redis = connectProducerRedis(`redis://127.0.0.1:${String(port)}`, () => undefined);
    try {
      await until(() => sockets.length > 1, { deadlineMs: soonMsMax, what: 'another connection' });
    } finally {
      redis.disconnect();
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  it('is given up where it stays silent; one that owes nothing is not', async () => {
    const server = await startTestRedis();
    const asking = connectProducerRedis(server.url, () => undefined);
    const idle = connectProducerRedis(server.url, () => undefined);
    let idleLosses = 0;
    idle.on('close', () => (idleLosses += 1));
    try {
      await Promise.all([untilReady(asking), untilReady(idle)]);
      process.kill(server.pid, 'SIGSTOP');
      expect(await asking.ping().catch((error: unknown) => error)).to.be.instanceOf(Error);
      process.kill(server.pid, 'SIGCONT');
      await untilReady(asking);
      expect(await asking.ping()).to.equal('PONG');
      expect(idleLosses).to.equal(0);
    } finally {
      asking.disconnect();
      idle.disconnect();
      process.kill(server.pid, 'SIGCONT');
      await server.stop();
    }
  });
});

describe('a database number that Redis does not have', () => {
  it('is never taken for number 0, where another installation may be: the connection does not come to be used', async () => {
    const server = await startTestRedis();
    const said: string[] = [];
    let [tries, uses] = [0, 0];
    const redis = connectWorkerRedis(`${server.url}/16`, ({ message }) => said.push(message));
    redis.on('reconnecting', () => (tries += 1)).on('ready', () => (uses += 1));
    try {
      await until(() => tries >= 3, { deadlineMs: soonMsMax, what: 'the third try' });
      expect(uses).to.equal(0);
      expect(said).to.include('ERR DB index is out of range');
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });

  it('ends a start, which says so', async () => {
    const server = await startTestRedis();
    const redis = connectWorkerRedis(`${server.url}/16`, () => undefined);
    try {
      const problem = await untilReady(redis).catch((error: unknown) => error);
      expect(problem).to.be.instanceOf(ServerUnusable);
      expect((problem as Error).message).to.include('ERR DB index is out of range');
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});

describe('a connection that was given up', () => {
  const { setInterval: set, clearInterval: clear } = globalThis;
  afterEach(() => Object.assign(globalThis, { setInterval: set, clearInterval: clear }));

  it('is not watched any more, so that nothing of it stays', async () => {
    const running = new Set<unknown>();
    Object.assign(globalThis, {
      setInterval: (run: () => void, ms?: number) => {
        const timer = set(run, ms);
        running.add(timer);
        return timer;
      },
      clearInterval: (timer?: NodeJS.Timeout) => {
        running.delete(timer);
        clear(timer);
      },
    });
    const redis = connectProducerRedis('redis://127.0.0.1:1', () => undefined);
    expect(running.size).to.equal(1);
    const ended = new Promise((resolve) => redis.once('end', resolve));
    redis.disconnect();
    await ended;
    expect(running.size).to.equal(0);
  });
});
