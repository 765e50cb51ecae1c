import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { until } from '../support/time/until.js';
import { createLane } from './generator/lane.js';
import type { Outcome } from './generator/lane.js';
import type { LoadOrder, LoadResult } from './generator/load-run.js';
import { planRequests } from './generator/plan-requests.js';
import type { RequestPlan } from './generator/plan-requests.js';
import { startGenerators, sumOfProgress } from './generators.js';
import { openLevelBook } from './level-book.js';
import { summariseLoad } from './load-summary.js';
import { namedScenarios } from './scenario.js';
import type { Stage } from './stage.js';
import { judgeThreshold, readThreshold } from './thresholds.js';

const endMsMax = 50_000;

/** Reads of one material, over one connection. */
const plan: RequestPlan = {
  scenario: { title: 'reads', pick: 'first', mix: [{ ask: 'material', weight: 1 }] },
  catalogue: { key: 'none', materialIds: ['VMAT-1'], locationIds: [] },
  authority: '127.0.0.1',
  basePath: '/v1',
  seed: 1,
};
const orderTo = (port: number, loop: LoadOrder['loop'], stages: LoadOrder['stages']): LoadOrder => ({
  target: { host: '127.0.0.1', port, isTls: false },
  loop,
  connectionsMax: 1,
  stages,
  firstDue: 0,
  requestsMax: 1_000,
  answerMsMax: endMsMax,
  drainMsMax: endMsMax,
  sliceMs: 100,
});

describe('the load engine', () => {
  it('counts an open loop’s latency from when a request was due: a stall of the service shows in all that were due meanwhile', async () => {
    const stallMs = 400;
    let isStalled = true;
    const held: (() => void)[] = [];
    const server = createServer((_, response) => {
      const answer = () => response.writeHead(200, { 'Content-Length': 2 }).end('{}');
      if (isStalled) held.push(answer);
      else answer();
    });
    const port = await listen(server);
    const generators = await startGenerators(1);
    try {
      const stages = [{ ms: 2 * stallMs, from: 100, to: 100, isWarmup: false }];
      const running = generators.run(orderTo(port, 'open', stages), plan);
      await until(() => held.length > 0, { deadlineMs: endMsMax, what: 'the first request' });
      setTimeout(() => {
        isStalled = false;
        for (const answer of held) answer();
      }, stallMs);
      const { total, sent, neverSent } = summariseLoad(await running);
      expect(sent + neverSent).to.equal(80);
      expect(total.latency.count).to.equal(sent);
      // Some 40 were due in the stall and waited 200 ms on average; counted from when they were sent, only one is slow.
      expect(total.latency.p90Ms).to.be.greaterThan(stallMs / 2);
    } finally {
      await generators.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('has no latency, and misses each threshold of one, where nothing that was due in the time that counts was answered', async () => {
    const [warmupMs, ms] = [200, 200];
    const server = createServer((_, response) => {
      setTimeout(() => response.writeHead(200, { 'Content-Length': 2 }).end('{}'), 2 * (warmupMs + ms));
    });
    const port = await listen(server);
    const generators = await startGenerators(1);
    try {
      const load = { from: 1_000, to: 1_000 };
      const stages = [
        { ms: warmupMs, ...load, isWarmup: true },
        { ms, ...load, isWarmup: false },
      ];
      const summary = summariseLoad(await generators.run(orderTo(port, 'open', stages), plan));
      // The one connection is busy with the first request, of the warm-up, until after the end.
      expect(summary).to.deep.include({ sent: 1, neverSent: 399, statuses: { '200': 1 } });
      const isMet = (text: string) => judgeThreshold(readThreshold(text), summary).isMet;
      for (const figure of ['p50', 'p90', 'p99', 'p99.9', 'max', 'mean'])
        expect(isMet(`${figure}<1000`)).to.equal(false);
      expect(isMet('rate>=0')).to.equal(true);
    } finally {
      await generators.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('makes as many requests due as the rate says when processes share it', async () => {
    const server = createServer((_, response) => response.writeHead(200, { 'Content-Length': 2 }).end('{}'));
    const port = await listen(server);
    const generators = await startGenerators(3);
    try {
      const stages = [{ ms: 2_000, from: 1, to: 1, isWarmup: false }];
      const order = { ...orderTo(port, 'open', stages), connectionsMax: 3 };
      const { sent, neverSent } = summariseLoad(await generators.run(order, plan));
      expect(sent + neverSent).to.equal(2);
    } finally {
      await generators.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('has every stage that a process came to, also where the first had sent its share before', () => {
    const [one, two] = [1, 8].map((load) => ({ ms: 500, from: load, to: load, isWarmup: false }));
    const told = { answered: 1, rows: 1, statuses: { '200': 1 }, latency: '', refusals: '', lag: '' };
    const result = (stages: Stage[]): LoadResult => ({
      startedAtMs: 0,
      stages: stages.map((stage) => ({ ...stage, ...told })),
      series: [],
      statuses: {},
      sent: stages.length,
      neverSent: 0,
      withoutRetryAfter: 0,
      accounts: [],
      missed: [],
    });
    const { stages, total } = summariseLoad([result([one!]), result([one!, two!])]);
    expect(stages.map(({ answered }) => answered)).to.deep.equal([2, 1]);
    expect(total.answered).to.equal(3);
  });

  it('shows progress in numbers while not every process has told its own', () => {
    const told = { atMs: 250, load: 1, okASecond: 10, p50Ms: 1, p99Ms: 2, sent: 3, others: 0, waiting: 0 };
    const sum = sumOfProgress([told, undefined, { ...told, p99Ms: 5 }]);
    expect(sum).to.include({ sent: 6, p50Ms: 1, p99Ms: 5, okASecond: 20 });
  });

  it('does not take the failed connection of a request that was given up for one of the next request', async () => {
    // What connects is refused until the server listens.
    const server = createServer((_, response) => {
      setTimeout(() => response.writeHead(200, { 'Content-Length': 2 }).end('{}'), 300);
    });
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    const request = (kind: number) => ({ kind, material: 0, delta: 0, rows: 0, message: planRequests(plan)().message });
    const outcomes: [kind: number, outcome: Outcome][] = [];
    const lane = createLane({ host: '127.0.0.1', port, isTls: false }, (_, asked, outcome) => {
      outcomes.push([asked.request.kind, outcome]);
    });
    lane.send(request(1), 0);
    await refusedOnce(port);
    lane.giveUp();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    lane.send(request(2), 0);
    await until(() => outcomes.length === 2, { deadlineMs: endMsMax, what: 'an answer to the second' });
    lane.close();
    server.closeAllConnections();
    server.close();
    expect(outcomes.map(([kind]) => kind)).to.deep.equal([1, 2]);
    expect(outcomes[0]?.[1]).to.equal('lost');
    expect(outcomes[1]?.[1]).to.include({ status: 200 });
  });

  it('sends nothing after a stop that came before the load, while the levels were read', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.writeHead(200, { 'Content-Length': 2 }).end('{}');
    });
    const port = await listen(server);
    const generators = await startGenerators(1);
    try {
      await generators.stop();
      const stages = [{ ms: 60_000, from: 1, to: 1, isWarmup: false }];
      const { sent } = summariseLoad(await generators.run(orderTo(port, 'closed', stages), plan));
      expect({ sent, asked }).to.deep.equal({ sent: 0, asked: 0 });
    } finally {
      await generators.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('takes a change without an answer for open: the level may hold it or not, and nothing else', async () => {
    const levels = new Map([['1', 10_000_000]]);
    const client = {
      listMaterials: async () => ['VMAT-1'],
      readLevels: async () => new Map(levels),
      close: async () => undefined,
    };
    const book = await openLevelBook(client, { key: '', materialIds: ['VMAT-1'], locationIds: ['1'] }, 1);
    const gain = { material: 0, row: 0, acknowledged: 5, open: 2 };
    const wrongAt = async (units: number) => {
      levels.set('1', units * 1_000_000);
      return (await book.reconcile([gain])).wrong;
    };
    const seen: number[] = [];
    for (const units of [14, 15, 16, 17, 18]) seen.push(await wrongAt(units));
    expect(seen).to.deep.equal([1, 0, 0, 0, 1]);
  });

  it('sends as many of each kind as its weight, over all materials, the same for the same seed', () => {
    const catalogue = { key: 'k', materialIds: ['VMAT-1', 'VMAT-2', 'VMAT-3'], locationIds: ['1'] };
    const plan = { scenario: namedScenarios.MIXED, catalogue, authority: 'here', basePath: '/v1', seed: 7 };
    const [next, again] = [planRequests(plan), planRequests(plan)];
    const requests = Array.from({ length: 10_000 }, next);
    const kinds = [0, 0, 0, 0];
    for (const { kind } of requests) kinds[kind] = (kinds[kind] ?? 0) + 1;
    [3_500, 3_500, 2_000, 1_000].forEach((wanted, kind) => expect(kinds[kind]).to.be.closeTo(wanted, 200));
    expect(new Set(requests.map(({ material }) => material)).size).to.equal(3);
    expect(Array.from({ length: 10_000 }, again)).to.deep.equal(requests);
  });
});

/** One that was refused later was refused after all that were tried before. */
async function refusedOnce(port: number): Promise<void> {
  await new Promise((resolve) => connect({ port, host: '127.0.0.1' }).once('error', resolve));
}

function listen(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
