import { connect } from 'node:net';

export interface Answer {
  status: number;
  /** A 200 that lists no failed row. */
  allRowsOk: boolean;
}

/** A keep-alive connection with at most one request in flight. */
export interface Connection {
  send(message: string): void;
  close(): void;
}

export interface ConnectionOptions {
  port: number;
  onAnswer: (answer: Answer) => void;
  /** It ended, or what came was not an answer. */
  onBroken: (error: Error) => void;
}

const answerBytesMax = 1_048_576;
const empty = Buffer.alloc(0);

/**
 * A client of HTTP/1.1 that knows just what this service answers: a head with `Content-Length`, and that long a body. On
 * the same two cores as everything else, every microsecond of the generator is taken from what it measures, and a
 * general client costs several times as many.
 */
export function openConnection({ port, onAnswer, onBroken }: ConnectionOptions): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let received = empty;
    let isClosed = false;
    const breakOff = (error: Error) => {
      if (isClosed) return;
      isClosed = true;
      socket.destroy();
      onBroken(error);
    };
    socket.once('error', (error) => {
      reject(error);
      breakOff(error);
    });
    socket.once('close', () => breakOff(new Error('the service closed a connection')));
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      if (received.length > answerBytesMax) return breakOff(new Error('an answer without an end'));
      const answer = readAnswer(received);
      if (answer === undefined) return;
      received = empty;
      onAnswer(answer);
    });
    socket.once('connect', () =>
      resolve({
        send: (message) => {
          if (!isClosed) socket.write(message, 'latin1');
        },
        close: () => {
          isClosed = true;
          socket.destroy();
        },
      }),
    );
  });
}

/** Undefined until the whole of it is there. */
function readAnswer(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) return { status: 0, allRowsOk: false };
  if (bytes.length < headEnd + 4 + Number(length)) return undefined;
  const status = Number(head.slice(9, 12));
  return { status, allRowsOk: status === 200 && bytes.includes('"failedCount":0,', headEnd) };
}
