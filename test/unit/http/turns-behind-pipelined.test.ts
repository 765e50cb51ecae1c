import { EventEmitter } from 'node:events';
import { createConnectionTurns, turnMsMax } from '../../../api/http/connection-turns.js';
import type { ConnectionTurns } from '../../../api/http/connection-turns.js';
import { until } from '../../support/until.js';

const soonMsMax = 10 * turnMsMax;

describe('the connections of a shop, of which one sends without awaiting answers', () => {
  it('wait no longer than a second behind one whose earlier requests are answered meanwhile', async () => {
    let max = 2;
    const turns = createConnectionTurns({ inHandMax: () => max, keepAliveMs: 10 * turnMsMax });
    const end: (() => void)[] = [];
    /** A request as the turns see it, on a connection that is only a stand-in. */
    const ask = async (socket: EventEmitter, work: () => Promise<void>) => {
      const res = new EventEmitter();
      const req = { socket, headers: {} };
      const ctx = { method: 'PATCH', req, res, state: { caller: { shop: { id: 1 } } } };
      await turns.take(ctx as unknown as Parameters<ConnectionTurns['take']>[0], work);
      res.emit('close');
    };
    const connection = () => {
      const seen = { isPaused: false };
      return Object.assign(new EventEmitter(), {
        seen,
        destroyed: false,
        pause: () => (seen.isPaused = true),
        resume: () => (seen.isPaused = false),
      });
    };
    const holding = [0, 1].map(() => ask(connection(), () => new Promise<void>((resolve) => end.push(resolve))));
    max = 1;
    const [pipelining, plain] = [connection(), connection()];
    for (const socket of [pipelining, plain]) await ask(socket, () => Promise.resolve());
    await until(
      async () => {
        await ask(pipelining, () => Promise.resolve());
        return !plain.seen.isPaused;
      },
      { deadlineMs: soonMsMax, what: 'the one behind to be read' },
    );
    for (const answer of end) answer();
    await Promise.all(holding);
    turns.close();
  });
});
