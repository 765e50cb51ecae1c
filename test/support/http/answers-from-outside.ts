import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A server that goes on while the event loop of the tests stands still. */
export interface AnswersFromOutside {
  /** Asks at once, and resolves when this process has read the answer. */
  ask: () => Promise<void>;
  /**
   * Keeps this process from everything else for so long, and until the answers to all that was asked are there to read.
   *
   * @throws if they do not come
   */
  standStill: (ms: number) => void;
  close: () => Promise<void>;
}

const soonMsMax = 15_000;

const source = `
  const { createServer } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const server = createServer((socket) => {
    socket.on('data', (question) => socket.write(question, () => Atomics.add(workerData, 0, 1)));
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

function standStill(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

export async function startAnswersFromOutside(): Promise<AnswersFromOutside> {
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(source, { eval: true, workerData: sent });
  const [port] = (await once(worker, 'message')) as [number];
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  let asked = 0;
  return {
    async ask() {
      const answered = once(socket, 'data');
      asked += 1;
      socket.write('?');
      await answered;
    },
    standStill(ms) {
      standStill(ms);
      const endMs = performance.now() + soonMsMax;
      while (Atomics.load(sent, 0) < asked) if (performance.now() > endMs) throw new Error('no answer from outside');
    },
    async close() {
      socket.destroy();
      await worker.terminate();
    },
  };
}
