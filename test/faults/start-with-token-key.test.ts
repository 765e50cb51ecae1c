import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { findShop } from '../../shared/database/shops.js';
import { createTokenCipher } from '../../shared/platform/token-cipher.js';
import { standInAccessToken } from '../../shared/standalone/stand-in-platform.js';
import { request } from '../support/http/http.js';
import { useGivenServers } from '../support/processes/given-servers.js';
import { refusal } from '../support/processes/npm-start-refusal.js';
import { npmStart } from '../support/processes/npm-start.js';
import { runManage } from '../unit/manage/run-manage.js';

describe('npm start with a PLATFORM_TOKEN_KEY', () => {
  const given = useGivenServers();

  const start = (key: string) =>
    npmStart(given.folder, { DATABASE_URL: given.databaseUrl, REDIS_URL: given.redisUrl, PLATFORM_TOKEN_KEY: key });

  it('seals and opens with that key, as npm run manage does beside it', async () => {
    const key = randomBytes(32).toString('hex');
    const started = start(key);
    try {
      const { baseUrl, readKey, shopId, platformMaterialIds } = await started.ready();
      const sealed = (await findShop(given.database, shopId))?.platform?.tokenSealed ?? Buffer.alloc(0);
      expect(createTokenCipher(key).open(sealed, shopId)).to.equal(standInAccessToken);
      const path = `/v1/raw-materials/${platformMaterialIds[0] ?? ''}/inventory`;
      const { status, text } = await request(baseUrl, { path, key: readKey });
      expect(status, text).to.equal(200);
    } finally {
      started.kill('SIGTERM');
      await started.exited;
    }
  });

  it('is not taken for the key that the folder has kept: manage without it seals no token', async () => {
    const key = randomBytes(32).toString('hex');
    await writeFile(join(given.folder, 'platform-token-key'), `${'ab'.repeat(32)}\n`);
    const started = npmStart(given.folder, { REDIS_URL: given.redisUrl, PLATFORM_TOKEN_KEY: key });
    try {
      const { shopId } = await started.ready();
      const options = ['--platform-domain', 'x.myshopify.com', '--platform-token-stdin'];
      const connect = (env: Record<string, string>) =>
        runManage(['shops', 'set', String(shopId), ...options], { DATA_DIR: given.folder, ...env }, 'a-token');
      const without = await connect({});
      expect(without.stderr).to.include('PLATFORM_TOKEN_KEY is not set');
      expect(without).to.include({ code: 1, stdout: '' });
      const { code, stderr } = await connect({ PLATFORM_TOKEN_KEY: key });
      expect(code, stderr).to.equal(0);
    } finally {
      started.kill('SIGTERM');
      await started.exited;
    }
  });

  it('that is no key is refused, without showing it', async () => {
    const { code, output } = await refusal(start('no-key-at-all'));
    expect(output).to.include('PLATFORM_TOKEN_KEY').and.not.to.include('no-key-at-all');
    expect(code).to.equal(78);
  });
});
