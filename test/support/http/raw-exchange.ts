import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer } from './http.js';
import { afterOwnTime } from '../time/own-time.js';

const closedMsMax = 10_000;

/** Writes bytes as they are and returns everything that comes back until the server closes the connection. */
export function rawUntilClosed(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let text = '';
    const takeBack = afterOwnTime(closedMsMax, () => {
      socket.destroy();
      reject(new Error(`Not closed within ${String(closedMsMax)} ms; so far: ${JSON.stringify(text)}`));
    });
    socket.setEncoding('latin1');
    socket.once('connect', () => socket.write(bytes));
    socket.on('data', (chunk: string) => (text += chunk));
    // A reset after an answer is an end like any other; the test must see whether the answer is whole.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      takeBack();
      resolve(text);
    });
  });
}

/** Everything that comes on a socket until it is closed. */
export function textUntilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  return new Promise((resolve) => socket.once('close', () => resolve(text)));
}

/** Sends all parts, whatever comes meanwhile, then ends; what came until the service had ended as well. */
export function sendOn(
  port: number,
  all: readonly string[],
  pauseMs: number,
): Promise<{ text: string; error?: Error }> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.once('error', (error) => {
      resolve({ text, error });
    });
    socket.once('close', () => {
      resolve({ text });
    });
    void (async () => {
      for (const part of all) {
        socket.write(part, 'latin1');
        await pause(pauseMs);
      }
      socket.end();
    })();
  });
}

/** The bytes of one answer, read as a client would; its body is what Content-Length says, and nothing may follow it. */
export function parseAnswer(bytes: string): Answer {
  const answers = parseAnswers(bytes);
  const [answer] = answers;
  if (answer === undefined || answers.length > 1) throw new Error(`Not one answer: ${JSON.stringify(bytes)}`);
  return answer;
}

/** The answers that came on one connection, one after the other; throws for bytes that are no whole answer. */
export function parseAnswers(bytes: string): Answer[] {
  const answers: Answer[] = [];
  let rest = bytes;
  while (rest !== '') {
    const [head = '', ...others] = rest.split('\r\n\r\n');
    const [statusLine = '', ...lines] = head.split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (!(status >= 100)) throw new Error(`Not an answer: ${JSON.stringify(rest)}`);
    rest = others.join('\r\n\r\n');
    if (status === 100) continue;
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const length = Number(headers['content-length']);
    if (rest.length < length) throw new Error(`Cut short: ${JSON.stringify(bytes)}`);
    const text = Buffer.from(rest.slice(0, length), 'latin1').toString('utf8');
    rest = rest.slice(length);
    answers.push({ status, headers, body: JSON.parse(text) as unknown, text });
  }
  return answers;
}
