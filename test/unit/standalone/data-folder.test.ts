import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { chmod, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { keepPlatformTokenKey, openDataFolder } from '../../../shared/standalone/data-folder.js';
import { curlLines, demoFilePath, removeDemoFile, writeDemoFile } from '../../../shared/standalone/demo-file.js';
import type { Demo } from '../../../shared/standalone/demo-file.js';
import { freePort, portOrFree } from '../../../shared/standalone/ports.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const demo: Demo = {
  baseUrl: 'http://127.0.0.1:3000/v1',
  docsUrl: 'http://127.0.0.1:3000/docs',
  mcpUrl: 'http://127.0.0.1:3000/mcp',
  adminUrl: 'http://127.0.0.1:3001',
  adminToken: 'token',
  metricsUrls: ['http://127.0.0.1:3001/metrics'],
  shopId: 1,
  readKey: 'rmk_read',
  writeKey: 'rmk_write',
  basicPlanKey: 'rmk_basic',
  loadKey: 'rmk_load',
  virtualMaterialIds: ['VMAT-1', 'VMAT-2', 'VMAT-3'],
  platformMaterialIds: ['8001'],
  locationIds: ['70001', '70002'],
  load: { materialIds: ['VMAT-9'], locationIds: ['90001'] },
};

describe('the data folder of npm start', () => {
  let folder: { path: string; remove(): Promise<void> };
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => folder.remove());

  it('is made when missing', () => {
    const path = join(folder.path, 'a', 'b');
    expect(openDataFolder(path)).to.deep.equal({ ok: true, value: path });
    expect(existsSync(path)).to.equal(true);
  });

  it('is made for the user of Postgres to enter, its logs for nobody else, whatever the umask is', async () => {
    const path = join(folder.path, 'a');
    const modesUnder = async (mask: number) => {
      const umask = process.umask(mask);
      openDataFolder(path);
      process.umask(umask);
      const modes = [path, join(path, 'logs')].map((place) => statSync(place).mode & 0o777);
      await rm(path, { recursive: true });
      return modes;
    };
    for (const mask of [0o000, 0o077]) expect(await modesUnder(mask)).to.deep.equal([0o755, 0o700]);
  });

  it('that is there keeps the mode that it was given', async () => {
    await chmod(folder.path, 0o700);
    openDataFolder(folder.path);
    expect((await stat(folder.path)).mode & 0o777).to.equal(0o700);
  });

  it('is refused with what to do when it cannot be made', async () => {
    await writeFile(join(folder.path, 'file'), '');
    const outcome = openDataFolder(join(folder.path, 'file', 'data'));
    expect(outcome)
      .to.have.property('problem')
      .that.matches(/cannot be used.*Set DATA_DIR/s);
  });

  // Of a folder there the system says that its parent is missing, at which Node's own recursion never ends.
  if (existsSync('/proc/self')) {
    it('is refused with what to do where no folder can be made at all', () => {
      const opened = openDataFolder('/proc/raw-materials/data');
      expect(opened.ok ? '' : opened.problem).to.match(/^The data folder \/proc\/raw-materials\/data cannot be used: /);
    });
  }

  it('is refused with what to do when an empty file is all that fits into it, as on a full disk', async () => {
    const data = join(folder.path, 'data');
    const module = new URL('../../../shared/standalone/data-folder.ts', import.meta.url).href;
    const script = `
      import { openDataFolder } from '${module}';
      process.stdout.write(JSON.stringify(openDataFolder('${data}')));`;
    // A stand-in for the full disk: a file of this process may have 0 bytes at most.
    const words = [
      '-c',
      'ulimit -f 0; exec "$0" --import tsx --input-type=module --eval "$1"',
      process.execPath,
      script,
    ];
    const { stdout } = spawnSync('/bin/sh', words, { encoding: 'utf8', timeout: 30_000 });
    expect(stdout).to.match(/"ok":false.*cannot be used.*Set DATA_DIR/s);
    expect(await readdir(data)).to.deep.equal(['logs']);
  });

  it('keeps one key for platform tokens, readable to its owner alone', async () => {
    const kept = () => {
      const key = keepPlatformTokenKey(folder.path);
      return key.ok ? key.value : key.problem;
    };
    const key = kept();
    expect(key).to.match(/^[0-9a-f]{64}$/);
    expect(kept()).to.equal(key);
    expect((await stat(join(folder.path, 'platform-token-key'))).mode & 0o777).to.equal(0o600);
  });

  it('holds demo.json, which has keys in it, for its owner alone, and not once it is removed', async () => {
    writeDemoFile(folder.path, demo);
    expect((await stat(demoFilePath(folder.path))).mode & 0o777).to.equal(0o600);
    removeDemoFile(folder.path);
    expect(existsSync(demoFilePath(folder.path))).to.equal(false);
  });

  it('is announced with lines to paste: a read with the read key, a change with the write key', () => {
    const { read, adjust } = curlLines(demo);
    expect(read).to.equal(
      `curl -s -H 'Authorization: Bearer rmk_read' 'http://127.0.0.1:3000/v1/raw-materials?pageSize=3'`,
    );
    expect(adjust).to.equal(
      `curl -s -X PATCH -H 'Authorization: Bearer rmk_write' -H 'Content-Type: application/json' ` +
        `-d '{"updates":[{"locationId":"70001","delta":5}]}' 'http://127.0.0.1:3000/v1/raw-materials/VMAT-1/inventory'`,
    );
  });
});

describe('a wanted port', () => {
  it('of 0 is any that the system gives to nobody’s outgoing connection', async () => {
    for (let count = 0; count < 10; count += 1) expect(await portOrFree(0)).to.be.within(20_000, 32_767);
  });

  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    it(`moves when it is busy on ${host}, and is kept when it is free`, async () => {
      const squatter = createServer();
      // One of those that the system gives to nobody's outgoing connection, once it is free again.
      const port = await freePort();
      await new Promise<void>((resolve) => squatter.listen(port, host, resolve));
      const moved = await portOrFree(port);
      await new Promise((resolve) => squatter.close(resolve));
      expect(moved).not.to.equal(port);
      expect(await portOrFree(port)).to.equal(port);
    });
  }
});
