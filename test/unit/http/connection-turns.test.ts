import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import Koa from 'koa';
import { createIsForwarded } from '../../../api/http/client-address.js';
import { createConnectionTurns, turnMsMax } from '../../../api/http/connection-turns.js';
import type { ConnectionTurns } from '../../../api/http/connection-turns.js';
import type { RequestState } from '../../../api/http/request-state.js';
import { parseTrustedProxies } from '../../../api/trusted-proxies.js';
import { slowClock } from '../../support/time/slow-clock.js';
import type { SlowClock } from '../../support/time/slow-clock.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10 * turnMsMax;
const keepAliveMs = 10 * turnMsMax;
/** How often the turns look for what is free. */
const lookEveryMs = 5;

/** A client of one connection, which it keeps. */
interface Client {
  ask: (asked?: { method?: string; shop?: number; headers?: Record<string, string> }) => Promise<void>;
  close: () => void;
}

describe('the connections of a shop', () => {
  /** How many requests of a shop may be in hand. */
  let max: number;
  let trustedProxies: string;
  let turns: ConnectionTurns;
  let server: Server;
  /** The names of the clients whose requests were read, in their order. */
  let read: string[];
  let clients: Client[];
  /** Lets the requests that are held go to their answers; undefined where none is held. */
  let held: (() => void)[] | undefined;
  /** Or whoever waits would have the turn that comes in any case, where the process stood still for a second. */
  let clock: SlowClock;

  beforeEach(async () => {
    clock = slowClock(30);
    await start();
  });
  afterEach(async () => {
    clock.restore();
    turns.close();
    for (const client of clients) client.close();
    server.close();
    await once(server, 'close');
  });

  async function start(): Promise<void> {
    max = 1;
    trustedProxies = '';
    read = [];
    clients = [];
    held = undefined;
    turns = createConnectionTurns({
      inHandMax: () => max,
      keepAliveMs,
      isForwarded: (req) => createIsForwarded(parseTrustedProxies(trustedProxies))(req),
    });
    const app = new Koa<RequestState>();
    app.silent = true;
    app.use(async (ctx, next) => {
      const shop = { id: Number(ctx.get('x-shop')) };
      ctx.state.caller = { shop } as RequestState['caller'];
      await next();
    });
    app.use(turns.take);
    app.use(async (ctx) => {
      read.push(ctx.get('x-client'));
      if (ctx.get('x-fault') !== '') throw new Error('a fault of ours');
      if (ctx.get('x-shop') === '1') await new Promise<void>((resolve) => (held ? held.push(resolve) : resolve()));
      ctx.status = 200;
    });
    const handle = app.callback();
    server = createServer({ keepAliveTimeout: keepAliveMs }, (req, res) => void handle(req, res));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  function connectClient(name: string): Client {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { port } = server.address() as AddressInfo;
    const client: Client = {
      ask: async ({ method = 'PATCH', shop = 1, headers = {} } = {}) => {
        const sent = request({ port, agent, method, headers: { ...headers, 'x-shop': shop, 'x-client': name } });
        sent.end();
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        answer.resume();
        await once(answer, 'end');
      },
      close: () => {
        agent.destroy();
      },
    };
    clients.push(client);
    return client;
  }

  /** Clients that have had an answer while their shop had as many writes in hand as it may. */
  async function waiting(...names: string[]): Promise<Client[]> {
    max = 0;
    const those = names.map(connectClient);
    for (const client of those) await client.ask();
    read.length = 0;
    return those;
  }

  /** What was read by the time that a later request of another shop is answered. */
  async function readMeanwhile(): Promise<string[]> {
    await connectClient('another').ask({ shop: 2 });
    return read.filter((name) => name !== 'another');
  }

  it('are read at once while it has room', async () => {
    max = 1;
    const client = connectClient('one');
    await client.ask();
    await client.ask();
    expect(read).to.deep.equal(['one', 'one']);
  });

  it('are not read after an answer while it has none, and then in the order in which they came', async () => {
    const [one, two, three] = await waiting('one', 'two', 'three');
    const asked = [three, two, one].map(async (client) => client?.ask());
    expect(await readMeanwhile()).to.deep.equal([]);
    max = 1;
    await Promise.all(asked);
    expect(read.filter((name) => name !== 'another')).to.deep.equal(['one', 'two', 'three']);
  });

  it('give their turn away with their answer where others wait, though there is room', async () => {
    const [one, two] = await waiting('one', 'two');
    max = 1;
    const late = connectClient('late');
    await Promise.all([late.ask(), one?.ask(), two?.ask()]);
    await late.ask();
    expect(read).to.have.members(['late', 'one', 'two', 'late']);
    expect(read.at(-1)).to.equal('late');
  });

  it('are called by as many as there is room for, also where some have nothing to ask', async () => {
    const [, , three] = await waiting('silent', 'as silent', 'three');
    const asked = three?.ask();
    expect(await readMeanwhile()).to.deep.equal([]);
    max = 1;
    await asked;
    expect(read).to.include('three');
  });

  it('take no place any more once they broke with several requests on the way', async () => {
    held = [];
    max = 2;
    const { port } = server.address() as AddressInfo;
    const broken = connect({ port, host: '127.0.0.1' });
    const request = 'PATCH / HTTP/1.1\r\nHost: x\r\nx-shop: 1\r\nx-client: broken\r\nContent-Length: 0\r\n\r\n';
    broken.write(request + request);
    await until(() => held?.length === 2, { deadlineMs: turnMsMax, what: 'both requests' });
    broken.destroy();
    await readMeanwhile();
    for (const answer of held.splice(0)) answer();
    await readMeanwhile();
    held = undefined;
    max = 1;
    read.length = 0;
    const one = connectClient('one');
    await one.ask();
    const asked = one.ask();
    expect(await readMeanwhile()).to.deep.equal(['one', 'one']);
    await asked;
  });

  it('are never called in greater number than may be in hand, though what they ask has not arrived yet', async () => {
    const six = await waiting('a', 'b', 'c', 'd', 'e', 'f');
    held = [];
    max = 3;
    const rounds = 8;
    const asked = six.map(async (client) => {
      for (let round = 0; round < rounds; round += 1) await client.ask();
    });
    for (let answered = 0; answered < six.length * rounds; answered += max) {
      await until(() => held?.length === max, { deadlineMs: turnMsMax, what: () => `3 in hand, not ${held?.length}` });
      await readMeanwhile();
      expect(held).to.have.length(max);
      // All in one turn of the event loop, as the answers of one job are.
      for (const answer of held.splice(0)) answer();
    }
    await Promise.all(asked);
  });

  it('take a place until they have their answer, also when another of the shop has had its own', async () => {
    held = [];
    max = 2;
    const [one, two] = [connectClient('one'), connectClient('two')];
    const asked = [one, two].map(async (client) => client.ask());
    await until(() => held?.length === 2, { deadlineMs: turnMsMax, what: 'both requests' });
    max = 1;
    held.shift()?.();
    await Promise.race(asked);
    const first = read[0] === 'one' ? one : two;
    const again = first.ask();
    expect(await readMeanwhile()).to.have.length(2);
    for (const answer of held.splice(0)) answer();
    held = undefined;
    await Promise.all([...asked, again]);
  });

  it('take no place any more once their request has ended in a fault', async () => {
    const one = connectClient('one');
    await one.ask({ headers: { 'x-fault': '1' } });
    const asked = one.ask();
    expect(await readMeanwhile()).to.deep.equal(['one', 'one']);
    await asked;
  });

  it('do not wait for those of another shop', async () => {
    held = [];
    const [one, other] = [connectClient('one'), connectClient('other')];
    const asked = one.ask();
    await until(() => held?.length === 1, { deadlineMs: turnMsMax, what: 'the request' });
    await other.ask({ shop: 2 });
    const again = other.ask({ shop: 2 });
    expect(await readMeanwhile()).to.deep.equal(['one', 'other', 'other']);
    for (const answer of held.splice(0)) answer();
    await Promise.all([asked, again]);
  });

  it('wait no longer than a bound', async () => {
    clock.restore();
    const startMs = performance.now();
    const [one] = await waiting('one');
    await one?.ask();
    expect(performance.now() - startMs).to.be.greaterThan(turnMsMax / 2);
  });

  it('wait no longer than that either after a time in which none of them waited', async () => {
    clock.restore();
    const [one] = await waiting('one');
    held = [];
    const asked = one?.ask();
    await until(() => held?.length === 1, { deadlineMs: soonMsMax, what: 'the turn that comes in any case' });
    // By now they have looked and found nobody, so the looking has ended.
    await delay(10 * lookEveryMs);
    for (const answer of held.splice(0)) answer();
    held = undefined;
    await asked;
    const again = one?.ask();
    await until(() => read.length === 2, { deadlineMs: soonMsMax, what: 'the next turn' });
    await again;
  });

  it('are read whatever they wait for once the server closes, and from then on', async () => {
    const [one] = await waiting('one');
    const asked = one?.ask();
    expect(await readMeanwhile()).to.deep.equal([]);
    turns.close();
    await asked;
    await one?.ask();
    expect(read.filter((name) => name === 'one')).to.have.length(2);
  });

  it('may end while they wait', async () => {
    const [one, two] = await waiting('one', 'two');
    one?.close();
    const asked = two?.ask();
    max = 1;
    await asked;
    expect(read).to.deep.equal(['two']);
  });

  for (const [what, headers] of [
    ['X-Forwarded-For', { 'x-forwarded-for': '192.0.2.1' }],
    ['Forwarded', { forwarded: 'for=192.0.2.1' }],
    ['Via', { via: '1.1 proxy' }],
  ] as const) {
    it(`do not wait behind a trusted proxy, which serves others on the same connection (${what})`, async () => {
      trustedProxies = '127.0.0.1';
      max = 0;
      const proxy = connectClient('proxy');
      await proxy.ask({ headers });
      const again = proxy.ask({ headers });
      expect(await readMeanwhile(), 'not as late as a turn comes at the latest').to.deep.equal(['proxy', 'proxy']);
      await again;
    });
  }

  it('do not wait after a read', async () => {
    max = 0;
    const client = connectClient('one');
    await client.ask({ method: 'GET' });
    await client.ask();
    expect(read).to.deep.equal(['one', 'one']);
  });
});
