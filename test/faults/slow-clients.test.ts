import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { addOne, totalOf } from '../support/shop/change.js';
import type { Database } from '../../shared/database/connect.js';
import { counting } from '../support/long-run/counting.js';
import { isLongRun, sizeOf } from '../support/long-run/long-run.js';
import { inventoryPath } from '../support/http/material-paths.js';
import { timesFigures } from '../support/faults/recovery.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const slowSockets = 1_000;
const honestClients = 8;
/** Of half the sockets each; but only 12 MiB of bodies may be on their way at a time, and the others are refused. */
const cutHeadsMin = 500;
const cutBodiesMin = 100;
/** The honest p99 of the long run, as a multiple of that without slow clients. */
const slowdownMax = 2;
const cutMsMax = 60_000;
/** `npm test` has short time-outs of a head and of a request, so that each socket meets its own; else the defaults. */
const shortBounds = { HEADERS_TIMEOUT_MS: '1000', REQUEST_TIMEOUT_MS: '2000' };
const dripMs = isLongRun ? 1_000 : 200;

describe('T15: a thousand clients whose heads and bodies drip in', () => {
  let service: Service;
  let database: Database;
  useService(
    { apis: 1, workers: 1, apiEnv: isLongRun ? {} : shortBounds },
    (started) => ({ service, database } = started),
  );

  it('hold up nobody: honest requests are answered, and each of the slow is cut off or refused', async () => {
    const honest = await createTestShop(database, { materials: 50 });
    const slow = await createTestShop(database);
    const size = sizeOf({ small: 5, long: 600 });
    await counting({ test: 'T15', unit: 'seconds', size }, async (count) => {
      const clients = startHonest(service.baseUrls[0] ?? '', honest);
      const baseDelayMs = Math.max(2_000, size * 50);
      // Processes that have just been started are slow at first, which is not to count in their favour later.
      await delay(baseDelayMs);
      clients.takeTimes();
      await delay(baseDelayMs);
      const baseMs = clients.takeTimes();
      const drips = startDrips(service.apis[0]?.port ?? 0, slow);
      let underMs: number[];
      // They must stop whatever fails: a slow one that is cut off is followed by another, for ever.
      try {
        while (count.left() > 0) {
          await delay(1_000);
          count.add();
        }
        underMs = clients.takeTimes();
        const cut = () => [drips.cut('head'), drips.cut('body')] as const;
        const wasCut = () => cut()[0] >= cutHeadsMin && cut()[1] >= cutBodiesMin;
        await until(wasCut, { deadlineMs: cutMsMax, what: () => `the slow to be cut off; ${cut().join(' and ')} are` });
        await clients.finish();
      } finally {
        drips.stop();
      }
      expect(drips.odd()).to.deep.equal([]);
      const totals = await Promise.all(honest.materialIds.map((id) => totalOf(database, honest, id)));
      expect(totals.reduce((sum, total) => sum + total)).to.equal(clients.answered());
      expect(await totalOf(database, slow)).to.equal(0);
      count.judged();
      const [base, under] = [p99(baseMs), p99(underMs)];
      return [
        ...timesFigures('honest', underMs),
        { name: 'honest p99 without them (ms)', value: base },
        { name: 'honest p99, times that', value: Math.round((100 * under) / base) / 100, most: slowdownMax },
        { name: 'slow requests cut off', value: drips.cut('head') + drips.cut('body') + drips.overtaken() },
        { name: 'slow bodies refused', value: drips.refused() },
      ];
    });
  });
});

function startHonest(baseUrl: string, shop: TestShop) {
  const times: number[] = [];
  let answered = 0;
  let isFinishing = false;
  const client = async (_: unknown, index: number) => {
    for (let sent = index; !isFinishing; sent += honestClients) {
      const materialId = shop.materialIds[sent % shop.materialIds.length] ?? '';
      const sentMs = performance.now();
      const { status, text } = await addOne(baseUrl, shop, { materialId });
      expect(status, text).to.equal(200);
      times.push(performance.now() - sentMs);
      answered += 1;
    }
  };
  const running = Promise.all(Array.from({ length: honestClients }, client));
  // It is awaited at the end; a rejection before that must not end the process.
  running.catch(() => undefined);
  return {
    answered: () => answered,
    /** In milliseconds, of the answers since this was last called. */
    takeTimes: () => times.splice(0),
    finish: async () => {
      isFinishing = true;
      await running;
    },
  };
}

/** Keeps a thousand sockets open that send a byte now and then; one that is cut off is followed by another. */
function startDrips(port: number, shop: TestShop) {
  const open = new Set<Socket>();
  const odd: string[] = [];
  const cut = { head: 0, body: 0 };
  let overtaken = 0;
  let refused = 0;
  let isStopping = false;
  const start = (slot: number) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let answer = '';
    let code: string | undefined;
    socket.setEncoding('latin1').on('data', (piece: string) => (answer += piece));
    socket.on('error', (error: NodeJS.ErrnoException) => (code = error.code));
    socket.once('close', () => {
      open.delete(socket);
      if (isStopping) return;
      if (answer.startsWith('HTTP/1.1 408 ') && answer.includes('REQUEST_TIMEOUT')) cut[partOf(slot)] += 1;
      // A byte that meets the closed socket is answered by a reset, which may overtake the 408 on its way to us.
      else if (answer === '' && (code === 'ECONNRESET' || code === 'EPIPE')) overtaken += 1;
      // Of 500 bodies of 100 KB on their way, some are more than a shop may have on its way.
      else if (isRefusedBody(answer)) refused += 1;
      else odd.push(answer);
      start(slot);
    });
    socket.write(partOf(slot) === 'head' ? 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ' : headOf(shop));
    open.add(socket);
  };
  for (let slot = 0; slot < slowSockets; slot += 1) start(slot);
  const timer = setInterval(() => {
    for (const socket of open) if (socket.writable) socket.write(' ');
  }, dripMs);
  return {
    /** How many have read their 408. */
    cut: (part: keyof typeof cut) => cut[part],
    overtaken: () => overtaken,
    refused: () => refused,
    /** What came on sockets that were closed in any other way. */
    odd: () => odd,
    stop: () => {
      isStopping = true;
      clearInterval(timer);
      for (const socket of open) socket.destroy();
    },
  };
}

/** What drips in on a socket. */
function partOf(slot: number): 'head' | 'body' {
  return slot % 2 === 0 ? 'head' : 'body';
}

function isRefusedBody(answer: string): boolean {
  return /^HTTP\/1\.1 503 .*\r\nRetry-After: [1-9].*Too many large bodies are on their way/s.test(answer);
}

function headOf({ materialIds, writeKey }: TestShop): string {
  return (
    `PATCH ${inventoryPath(materialIds[0] ?? '')} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n` +
    `Content-Type: application/json\r\nAuthorization: Bearer ${writeKey}\r\n\r\n{"updates":[`
  );
}

function p99(timesMs: number[]): number {
  return Number(timesFigures('', timesMs).find(({ name }) => name.includes('p99'))?.value);
}
