import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { afterOwnTime } from '../time/own-time.js';

export interface SeenCommand {
  name: string;
  /** Its arguments as MONITOR quotes them: what is not printable as an escape. */
  args: string[];
  /** The address of who sent it; `lua` for what a script calls. */
  source: string;
}

export interface RedisMonitor {
  stop(): void;
}

const connectedMsMax = 10_000;
const seenLine = /^\+[\d.]+ \[\d+ (\S+)\] (".*")$/;
const quoted = /"((?:[^"\\]|\\.)*)"/g;

/**
 * Tells every command that a Redis runs from now on, over a connection of its own: if a command comes in one packet
 * with the OK, the `monitor()` of ioredis takes it for an answer to no question, and throws where nobody can catch it.
 */
export async function monitorRedis(url: string, onCommand: (command: SeenCommand) => void): Promise<RedisMonitor> {
  const { hostname, port, username, password } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const lines = createInterface({ input: socket, crlfDelay: Infinity });
  const secret = decodeURIComponent(password);
  socket.write(`${secret === '' ? '' : `AUTH ${username === '' ? 'default' : username} ${secret}\r\n`}MONITOR\r\n`);
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string) => {
      socket.destroy();
      reject(new Error(`Redis cannot be watched: ${why}`));
    };
    const takeBack = afterOwnTime(connectedMsMax, () => {
      fail('no answer');
    });
    let isDue = secret === '' ? 1 : 2;
    socket.on('error', ({ message }) => {
      fail(message);
    });
    lines.on('line', (line) => {
      const [, source, words] = seenLine.exec(line) ?? [];
      if (source !== undefined && words !== undefined) {
        onCommand(commandOf(source, words));
        return;
      }
      if (line !== '+OK') fail(line);
      isDue -= 1;
      if (isDue > 0) return;
      takeBack();
      resolve();
    });
  });
  return {
    stop: () => {
      lines.close();
      socket.destroy();
    },
  };
}

function commandOf(source: string, words: string): SeenCommand {
  const [name = '', ...args] = [...words.matchAll(quoted)].map(([, word = '']) => word.replace(/\\(["\\])/g, '$1'));
  return { name: name.toLowerCase(), args, source };
}
