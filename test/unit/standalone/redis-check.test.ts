import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { checkRedis } from '../../../shared/standalone/redis-check.js';

const goodInfo = ['redis_version:7.0.15', 'process_id:1', 'maxmemory_policy:noeviction', 'aof_enabled:1', 'loading:0'];

describe('the check of the Redis of REDIS_URL', () => {
  /** What is said of one that answers INFO with these lines, and a write with this. */
  async function checked({ info = goodInfo, write = '$-1' }: { info?: string[]; write?: string }) {
    const text = info.join('\r\n');
    const server = createServer((socket) => {
      socket.setEncoding('utf8').on('data', (received: string) => {
        for (const command of received.split(/^\*\d+\r\n/m).slice(1)) {
          const [, name = ''] = /^\$\d+\r\n(\w+)\r\n/.exec(command) ?? [];
          const answers: Record<string, string> = { info: `$${text.length}\r\n${text}`, set: write };
          socket.write(`${answers[name.toLowerCase()] ?? '+OK'}\r\n`);
        }
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const outcome = await checkRedis(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
    await once(server, 'close');
    return outcome.ok ? 'good' : outcome.problem;
  }

  it('takes one that can be used', async () => {
    expect(await checked({})).to.equal('good');
  });

  it('takes one that is still loading its file, which passes', async () => {
    expect(await checked({ write: '-LOADING Redis is loading the dataset in memory' })).to.equal('good');
  });

  it('refuses one that is too old, and says from when on it would do', async () => {
    const [, ...others] = goodInfo;
    expect(await checked({ info: ['redis_version:6.0.16', ...others] })).to.equal(
      'The Redis of REDIS_URL is version 6.0.16; 6.2 or newer is needed, or any Valkey.',
    );
  });

  it('refuses a node of a cluster, and says what to do', async () => {
    expect(await checked({ write: '-MOVED 866 10.0.0.1:6379' })).to.match(
      /^The Redis of REDIS_URL takes no writes: MOVED 866 10\.0\.0\.1:6379\nIt is a node of a Redis Cluster, /,
    );
  });
});
