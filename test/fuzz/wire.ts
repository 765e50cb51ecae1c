import { connect } from 'node:net';
import type { Answer } from '../support/http/http.js';
import { afterOwnTime } from '../support/time/own-time.js';

/**
 * A connection that sends bytes as they are, and reads what comes back as answers, which must be whole and in order.
 */
export interface Wire {
  /** Writes one whole request; resolves with its answer. Opens the connection anew where the last answer ended it. */
  exchange(bytes: Buffer, method: string): Promise<Answer>;
  close(): void;
}

/** Above the API's own wait for an outcome. */
const answerMsMax = 30_000;

interface Pending {
  method: string;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}

export function openWire(port: number): Wire {
  let socket: ReturnType<typeof connect> | undefined;
  let pending: Pending | undefined;
  const fail = (message: string) => {
    socket?.destroy();
    socket = undefined;
    pending?.reject(new Error(message));
    pending = undefined;
  };
  const open = () => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true });
    const reader = createReader();
    opened.on('data', (chunk) => {
      if (opened !== socket) return;
      try {
        for (const answer of reader.read(chunk, pending?.method)) {
          if (pending === undefined) return fail(`An answer that nobody asked for: ${answer.text}`);
          if (answer.headers['connection'] === 'close') socket = undefined;
          pending.resolve(answer);
          pending = undefined;
        }
      } catch (error) {
        fail((error as Error).message);
      }
    });
    opened.on('error', () => undefined);
    opened.once('close', () => {
      if (opened === socket) fail(`The connection was closed without a whole answer; so far: ${reader.rest()}`);
    });
    return opened;
  };
  return {
    exchange: (bytes, method) =>
      new Promise((resolve, reject) => {
        const takeBack = afterOwnTime(answerMsMax, () => fail(`No answer within ${answerMsMax} ms`));
        const settle =
          <T>(then: (value: T) => void) =>
          (value: T) => {
            takeBack();
            then(value);
          };
        pending = { method, resolve: settle(resolve), reject: settle(reject) };
        socket ??= open();
        socket.write(bytes);
      }),
    close: () => {
      const ended = socket;
      socket = undefined;
      ended?.destroy();
    },
  };
}

export interface Reader {
  /** @param method of the request that is to be answered; undefined where it is not known, and is not HEAD */
  read(chunk: Buffer, method?: string): Answer[];
  /** What has come behind the last whole answer. */
  rest(): string;
}

/** Reads answers as strictly as a client may: throws for bytes that are none. Interim answers (1xx) are passed over. */
export function createReader(): Reader {
  let received: Buffer = Buffer.alloc(0);
  return {
    rest: () => received.toString('latin1').slice(0, 2_000),
    read(chunk, method) {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const answers: Answer[] = [];
      for (;;) {
        const found = readAnswer(received, method);
        if (found === undefined) return answers;
        received = received.subarray(found.end);
        if (found.answer.status >= 200) answers.push(found.answer);
      }
    },
  };
}

function readAnswer(bytes: Buffer, method: string | undefined): { answer: Answer; end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) {
    if (!'HTTP/1.1 '.startsWith(bytes.toString('latin1', 0, Math.min(9, bytes.length))))
      throw new Error(`Not an answer: ${JSON.stringify(bytes.toString('latin1', 0, 500))}`);
    return undefined;
  }
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\w ]*$/.exec(statusLine)?.[1]);
  if (!(status >= 100)) throw new Error(`Not an answer: ${JSON.stringify(bytes.toString('latin1', 0, 500))}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+): ?(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`Not a header: ${JSON.stringify(line)}`);
    if (headers[name.toLowerCase()] !== undefined) throw new Error(`A header twice: ${line}`);
    headers[name.toLowerCase()] = value;
  }
  const bodyStart = headEnd + 4;
  const isBodiless = method === 'HEAD' || status === 304 || status < 200;
  const length = isBodiless ? 0 : Number(headers['content-length']);
  if (!Number.isSafeInteger(length)) throw new Error(`An answer without a length: ${statusLine}`);
  if (bytes.length < bodyStart + length) return undefined;
  const text = bytes.toString('utf8', bodyStart, bodyStart + length);
  const isJson = headers['content-type']?.includes('json') === true && headers['content-encoding'] === undefined;
  return {
    answer: { status, headers, text, body: isJson && length > 0 ? parsed(text) : undefined },
    end: bodyStart + length,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
