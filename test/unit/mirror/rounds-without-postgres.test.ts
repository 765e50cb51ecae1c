import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import type { SyncDeps } from '../../../shared/mirror/sync-shop.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { startMirrorRounds } from '../../../worker/mirror-rounds.js';

describe('a round of mirrors whose Postgres goes away', () => {
  it('ends there and says so once: no other shop would fare better, and none of them has a fault of ours', async () => {
    const said: [level: string, message: string][] = [];
    let asked = 0;
    const connection = {
      query: ({ text }: { text: string }) => {
        if (text.includes('s.platform_domain IS NOT NULL')) return Promise.resolve({ rows: [{ id: 1 }, { id: 2 }] });
        asked += 1;
        return Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
      },
    };
    const client = { acquireConnection: () => Promise.resolve(connection), releaseConnection: () => Promise.resolve() };
    const rounds = startMirrorRounds({
      ...({ platform: undefined, tokenCipher: undefined } as unknown as SyncDeps),
      database: { client } as unknown as Database,
      everyMs: 60_000,
      logger: {
        warn: (_: object, message: string) => said.push(['warn', message]),
        error: (_: object, message: string) => said.push(['error', message]),
      } as unknown as Logger,
    });
    while (asked === 0) await Promise.resolve();
    await rounds.stop();
    expect(asked).to.equal(1);
    expect(said).to.deep.equal([['warn', 'The platform mirrors could not be looked after.']]);
  });
});
