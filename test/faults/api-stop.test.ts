import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { lingerMs } from '../../api/config.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { withLockedTable } from '../support/database/broken-storage.js';
import { useOwnHttpService } from '../support/http/http-service.js';
import { inventoryPath, listPath } from '../support/http/material-paths.js';
import { parseAnswer, parseAnswers } from '../support/http/raw-exchange.js';
import { untilRefused } from '../support/http/until-refused.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import type { Proc } from '../support/processes/service-process.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 5_000;
const endMsMax = 15_000;
const cleanEnd = { code: 0, signal: null };

interface Running {
  port: number;
  baseUrl: string;
  proc: Proc;
}

/** A client's connection, all that came on it, and whether it is over. */
interface Peer {
  socket: Socket;
  text: () => string;
  isOver: () => boolean;
}

describe('an API process', () => {
  const http = useOwnHttpService({ apis: 1, workers: 1 });

  describe('T14: an API that is told to stop', () => {
    // The second is that of a terminal that closes.
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      it(`answers every connection that the kernel had taken for it by then: ${signal}`, async () => {
        const shop = await createTestShop(http.database);
        await http.withApiProcess({}, async ({ port, proc }) => {
          // While stopped it takes nothing: connections wait in the queue of its port, and the signal waits as well.
          proc.kill('SIGSTOP');
          const peers = Array.from({ length: 100 }, () => open(port));
          await until(() => peers.every(({ socket }) => socket.readyState === 'open'), {
            deadlineMs: soonMsMax,
            what: 'the connections',
          });
          for (const { socket } of peers) socket.write(getList(shop));
          proc.kill(signal);
          proc.kill('SIGCONT');
          await untilOver(peers);
          for (const peer of peers) {
            const { status, headers } = parseAnswer(peer.text());
            expect([status, headers['connection']]).to.deep.equal([200, 'close']);
          }
          expect(await proc.exited).to.deep.equal(cleanEnd);
        });
      });
    }

    it('takes no new connection, answers what is under way with Connection: close, and lets go of idle connections', async () => {
      // Again where it let go of the idle one before this process came to use it: nothing was asked of it then.
      for (let isInTime = false; !isInTime;) {
        const shop = await createTestShop(http.database);
        isInTime = await http.withApiProcess({ ADMIN_PORT: '0' }, (api) => stopBesideIdle(api, shop));
        expect(await totalOf(http.database, shop)).to.equal(1);
      }
    });

    /** Returns whether the idle connection was used again in time. */
    async function stopBesideIdle({ port, baseUrl, proc }: Running, shop: TestShop): Promise<boolean> {
      const [worker] = http.service.workers;
      const idle = open(port);
      idle.socket.write(getList(shop));
      const silent = open(port);
      await until(() => parsed(idle)?.status === 200 && silent.socket.readyState === 'open', {
        deadlineMs: soonMsMax,
        what: 'an answer',
      });
      await freezeWorkers(http.service, http.service.workers);
      const asked = addOne(baseUrl, shop);
      await until(async () => (await http.redis.keys('*:wait')).length > 0, {
        deadlineMs: soonMsMax,
        what: 'the change to be queued',
      });
      const toldMs = performance.now();
      proc.kill('SIGTERM');
      await untilRefused(port, soonMsMax);
      // Whoever still sends on an open connection is answered, and told that it was the last time.
      idle.socket.write(getList(shop));
      const isInTime = performance.now() - toldMs < lingerMs;
      await untilOver([idle, silent]);
      expect(silent.text()).to.equal('');
      if (isInTime) {
        expect(idle.text().match(/HTTP\/1\.1 200/g)).to.have.length(2);
        expect(idle.text().match(/^Connection: close\r$/gm)).to.have.length(1);
      }
      expect(proc.hasExited(), 'before the change is answered').to.equal(false);
      expect((await fetch(`${proc.adminUrl ?? ''}/metrics`)).status, 'so that a stop can be watched').to.equal(200);
      worker?.kill('SIGCONT');
      const answer = await asked;
      expect([answer.status, answer.headers['connection']]).to.deep.equal([200, 'close']);
      expect(await proc.exited).to.deep.equal(cleanEnd);
      return isInTime;
    }

    for (const [what, requestOf] of [
      ['reads', getList],
      ['changes', patchOne],
    ] as const) {
      it(`answers all ${what} that came on one connection before it`, async () => {
        const shop = await createTestShop(http.database);
        const count = 30;
        await http.withApiProcess({}, async ({ port, proc }) => {
          const peer = open(port);
          const warm = open(port);
          await until(() => warm.socket.readyState === 'open', { deadlineMs: soonMsMax, what: 'a connection' });
          peer.socket.write(requestOf(shop).repeat(count));
          await until(() => peer.text() !== '', { deadlineMs: soonMsMax, what: 'the first answer' });
          proc.kill('SIGTERM');
          await untilOver([peer, warm]);
          expect(parseAnswers(peer.text()).map(({ status }) => status)).to.deep.equal(
            Array.from({ length: count }, () => 200),
          );
          expect(await proc.exited).to.deep.equal(cleanEnd);
        });
        expect(await totalOf(http.database, shop)).to.equal(what === 'changes' ? count : 0);
      });
    }

    it('does not wait for requests that drip: what cannot be answered in time any more is cut, and the end is clean', async () => {
      const shop = await createTestShop(http.database);
      const env = { WAIT_MS: '1000', SHUTDOWN_TIMEOUT_MS: '5000' };
      await http.withApiProcess(env, async ({ port, proc }) => {
        const drips = [
          'GET /v1/raw-materials HTTP/1.1\r\nHost: x\r\n',
          `PATCH ${listPath}/VMAT-x/inventory HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n` +
            `Content-Type: application/json\r\nAuthorization: Bearer ${shop.writeKey}\r\n\r\n{`,
        ].map((text) => {
          const peer = open(port);
          peer.socket.write(text);
          return peer;
        });
        const whole = open(port);
        whole.socket.write(getList(shop));
        await until(() => parsed(whole)?.status === 200, { deadlineMs: soonMsMax, what: 'an answer' });
        proc.kill('SIGTERM');
        await untilOver([...drips, whole]);
        expect(await proc.exited).to.deep.equal(cleanEnd);
      });
    });

    it('and is stuck is forced out within its bound', async () => {
      const shop = await createTestShop(http.database);
      const env = { WAIT_MS: '1000', SHUTDOWN_TIMEOUT_MS: '4000', READ_TIMEOUT_MS: '600000' };
      const api = await http.service.startApi(env);
      await withLockedTable(http.database, 'materials', async () => {
        const reader = open(api.port ?? 0);
        reader.socket.write(getList(shop));
        await until(() => hasWaitingQuery(), { deadlineMs: soonMsMax, what: 'the query to wait for the lock' });
        api.kill('SIGTERM');
        await until(api.hasExited, { deadlineMs: endMsMax, what: 'the forced end' });
      });
      expect(await api.exited).to.deep.equal({ code: 1, signal: null });
      expect(api.logs().join('\n')).to.contain('the server did not close: forced to exit');
      forget(api);
    });

    async function hasWaitingQuery(): Promise<boolean> {
      const { rows } = await http.database.raw<{ rows: unknown[] }>(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      );
      return rows.length > 0;
    }

    function forget(api: Proc): void {
      const { apis, baseUrls } = http.service;
      apis.splice(apis.indexOf(api), 1);
      baseUrls.splice(baseUrls.indexOf(api.baseUrl ?? ''), 1);
    }
  });

  describe('T7: an API that stands still and goes on', () => {
    for (const ms of [1_700, 3_000]) {
      it(`after ${ms} ms refuses nothing: nobody was away, but for itself`, async () => {
        const shop = await createTestShop(http.database, { materials: 20 });
        let isOver = false;
        const statuses: number[] = [];
        const clients = shop.materialIds.map(async (materialId) => {
          while (!isOver) statuses.push((await addOne(http.baseUrl, shop, { materialId })).status);
        });
        const answersMore = (count: number) => {
          const before = statuses.length;
          return until(() => statuses.length >= before + count, { deadlineMs: soonMsMax, what: `${count} answers` });
        };
        try {
          await answersMore(100);
          const [api] = http.service.apis;
          api?.kill('SIGSTOP');
          await delay(ms);
          api?.kill('SIGCONT');
          await answersMore(200);
        } finally {
          isOver = true;
          await Promise.all(clients);
        }
        expect(statuses.filter((status) => status !== 200)).to.deep.equal([]);
        const totals = await Promise.all(shop.materialIds.map((id) => totalOf(http.database, shop, id)));
        expect(totals.reduce((sum, total) => sum + total)).to.equal(statuses.length);
      });
    }
  });
});

function open(port: number): Peer {
  const socket = connect({ port, host: '127.0.0.1' });
  let text = '';
  let isOver = false;
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  socket.on('error', () => undefined).once('close', () => (isOver = true));
  return { socket, text: () => text, isOver: () => isOver };
}

function getList({ readKey }: TestShop): string {
  return `GET ${listPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${readKey}\r\n\r\n`;
}

function patchOne({ writeKey, materialIds, locationIds }: TestShop): string {
  const body = JSON.stringify({ updates: [{ locationId: locationIds[0], delta: 1 }] });
  return (
    `PATCH ${inventoryPath(materialIds[0] ?? '')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${writeKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

function parsed(peer: Peer): { status: number } | undefined {
  try {
    return parseAnswer(peer.text());
  } catch {
    return undefined;
  }
}

async function untilOver(peers: Peer[]): Promise<void> {
  await until(() => peers.every(({ isOver }) => isOver()), {
    deadlineMs: endMsMax,
    what: () => `the ends of ${String(peers.filter(({ isOver }) => !isOver()).length)} connections`,
  });
}
