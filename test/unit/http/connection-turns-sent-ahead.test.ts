import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { createIsForwarded } from '../../../api/http/client-address.js';
import { createConnectionTurns, turnMsMax } from '../../../api/http/connection-turns.js';
import type { ConnectionTurns } from '../../../api/http/connection-turns.js';
import { parseTrustedProxies } from '../../../api/trusted-proxies.js';
import { slowClock } from '../../support/time/slow-clock.js';
import type { SlowClock } from '../../support/time/slow-clock.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10 * turnMsMax;

/** A connection that is only a stand-in, and says whether it is read. */
function createConnection({ writable }: { writable: boolean }) {
  const seen = { isPaused: false };
  return Object.assign(new EventEmitter(), {
    seen,
    writable,
    destroyed: false,
    pause: () => (seen.isPaused = true),
    resume: () => (seen.isPaused = false),
  });
}

/** A request as the turns see it, until its answer is closed. */
async function ask(
  turns: ConnectionTurns,
  socket: EventEmitter,
  work: () => Promise<void>,
  headers: Record<string, string> = {},
): Promise<void> {
  const res = new EventEmitter();
  const ctx = {
    method: 'PATCH',
    req: Object.assign(new EventEmitter(), { socket, headers, complete: true }),
    res,
    state: { caller: { shop: { id: 1 } } },
  };
  await turns.take(ctx as unknown as Parameters<ConnectionTurns['take']>[0], work);
  res.emit('close');
}

const isForwarded = () => false;
const nothing = () => Promise.resolve();

describe('the connections of a shop, of which one sends without awaiting answers', () => {
  it('wait no longer than a second behind one whose earlier requests are answered meanwhile', async () => {
    let max = 2;
    const turns = createConnectionTurns({ inHandMax: () => max, keepAliveMs: 10 * turnMsMax, isForwarded });
    const end: (() => void)[] = [];
    const connection = () => createConnection({ writable: true });
    const holding = [0, 1].map(() => ask(turns, connection(), () => new Promise<void>((resolve) => end.push(resolve))));
    max = 1;
    const [pipelining, plain] = [connection(), connection()];
    for (const socket of [pipelining, plain]) await ask(turns, socket, nothing);
    await until(
      async () => {
        await ask(turns, pipelining, nothing);
        return !plain.seen.isPaused;
      },
      { deadlineMs: soonMsMax, what: 'the one behind to be read' },
    );
    for (const answer of end) answer();
    await Promise.all(holding);
    turns.close();
  });
});

describe('a connection of a shop that has no room', () => {
  it('waits no longer than half of the time that an idle connection is kept', async () => {
    const clock = slowClock(100);
    const keepAliveMs = turnMsMax / 5;
    const turns = createConnectionTurns({ inHandMax: () => 0, keepAliveMs, isForwarded });
    const connection = createConnection({ writable: true });
    try {
      await ask(turns, connection, nothing);
      // Some looks at who has waited long enough.
      await delay(50);
      expect(connection.seen.isPaused, 'at first').to.equal(true);
      clock.advance(keepAliveMs / 2);
      await until(() => !connection.seen.isPaused, { deadlineMs: keepAliveMs / 2, what: 'it to be read' });
    } finally {
      clock.restore();
      turns.close();
    }
  });

  for (const writable of [true, false]) {
    const what = writable
      ? 'waits'
      : 'is read on where it is being ended: its client is still sending, and is to hear why';
    it(what, async () => {
      const turns = createConnectionTurns({ inHandMax: () => 0, keepAliveMs: 10 * turnMsMax, isForwarded });
      const connection = createConnection({ writable });
      await ask(turns, connection, nothing);
      expect(connection.seen.isPaused).to.equal(writable);
      turns.close();
    });
  }

  const [proxy, stranger] = ['192.0.2.1', '192.0.2.2'];
  for (const [what, remoteAddress, headers, waits] of [
    ['waits where a client itself writes X-Forwarded-For', stranger, { 'x-forwarded-for': proxy }, true],
    ['waits where a client itself writes Forwarded', stranger, { forwarded: `for=${proxy}` }, true],
    ['waits where a client itself writes Via', stranger, { via: '1.1 proxy' }, true],
    ['waits where a trusted proxy passes it on as it is', proxy, {}, true],
    ['is read on where a trusted proxy forwards over it', `::ffff:${proxy}`, { via: '1.1 proxy' }, false],
  ] as const) {
    it(what, async () => {
      const isForwarded = createIsForwarded(parseTrustedProxies(proxy));
      const turns = createConnectionTurns({ inHandMax: () => 0, keepAliveMs: 10 * turnMsMax, isForwarded });
      const connection = Object.assign(createConnection({ writable: true }), { remoteAddress });
      await ask(turns, connection, nothing, headers);
      expect(connection.seen.isPaused).to.equal(waits);
      turns.close();
    });
  }
});

describe('the connections of a shop that never has room', () => {
  let clock: SlowClock;
  let turns: ConnectionTurns;
  const keepAliveMs = turnMsMax / 5;

  beforeEach(() => {
    clock = slowClock(100);
    turns = createConnectionTurns({ inHandMax: () => 0, keepAliveMs, isForwarded });
  });
  afterEach(() => {
    turns.close();
    clock.restore();
  });

  /** More than the first tables of a map hold; nobody else has them. */
  async function waitInVain(): Promise<WeakRef<ReturnType<typeof createConnection>>[]> {
    const connections = Array.from({ length: 20 }, () => createConnection({ writable: true }));
    for (const connection of connections) await ask(turns, connection, nothing);
    expect(connections.every(({ seen }) => seen.isPaused)).to.equal(true);
    return connections.map((connection) => new WeakRef(connection));
  }

  it('are forgotten once each was called for having waited long enough', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    let end: () => void = () => undefined;
    const inHand = ask(turns, createConnection({ writable: true }), () => new Promise((resolve) => (end = resolve)));
    const left = await waitInVain();
    clock.advance(keepAliveMs);
    const isForgotten = () => {
      collect();
      return left.every((connection) => connection.deref() === undefined);
    };
    await until(isForgotten, { deadlineMs: keepAliveMs, what: 'nothing to be kept of them' });
    end();
    await inHand;
  });
});
