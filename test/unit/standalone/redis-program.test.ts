import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { findRedisProgram } from '../../../shared/standalone/redis-program.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

describe('the Redis on the PATH', () => {
  let folder: { path: string; remove(): Promise<void> };
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => folder.remove());

  const said: string[] = [];
  const found = (...places: string[]) =>
    findRedisProgram({ say: (line) => said.push(line), env: { PATH: places.join(delimiter) } });

  it('may be a Valkey', async () => {
    const file = await program('valkey-server', 'echo "Valkey server v=8.1.1 sha=0"');
    expect(await found(folder.path)).to.deep.equal({ ok: true, value: { file, version: '8.1.1', source: 'PATH' } });
  });

  it('that does not run is named and passed over, and so is a folder of that name', async () => {
    const other = join(folder.path, 'other');
    await mkdir(join(other, 'redis-server'), { recursive: true });
    const broken = await program('redis-server', 'exit 127');
    const file = await program('valkey-server', 'echo "Valkey server v=8.1.1 sha=0"');
    said.length = 0;
    expect(await found(other, folder.path)).to.have.nested.property('value.file', file);
    expect(said).to.deep.equal([`Redis: ${broken} is not runnable`]);
  });

  async function program(name: string, body: string): Promise<string> {
    const path = join(folder.path, name);
    await writeFile(path, `#!/bin/sh\n${body}\n`);
    await chmod(path, 0o755);
    return path;
  }
});
