import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'chai';
import { fetchDebianRedis } from '../../../shared/standalone/debian-redis.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** What stands for apt-get: it has the package. */
const hasPackage = 'shift; for name; do : > "$name.deb"; done';
/** As on a machine whose lists are empty: it has the package only by lists of our own. */
const hasOwnLists = [
  'case "$given" in *Dir::State::Lists=*) ;; *) echo "E: Unable to locate package redis-tools"; exit 100 ;; esac',
  '[ "$1" = update ] && exit 0',
  hasPackage,
];
const unpacks = [
  'mkdir -p "$3/usr/bin"',
  'case "$2" in */redis-tools.deb) cp "${0%/*}/redis" "$3/usr/bin/redis-check-rdb" ;; esac',
];

describe('the Redis that Debian has in its package redis-tools', () => {
  const { PATH } = process.env;
  let folder: { path: string; remove(): Promise<void> };
  let cache: string;
  let said: string[];

  beforeEach(async () => {
    folder = await temporaryFolder();
    cache = join(folder.path, 'cache');
    said = [];
    await mkdir(cache);
    await mkdir(join(folder.path, 'bin'));
    // dpkg's own tools are looked for where this process looks.
    process.env.PATH = [join(folder.path, 'bin'), PATH].join(delimiter);
    await aptGet(hasPackage);
    await dpkgDeb(...unpacks);
    await program('dpkg-query', 'case "$3" in libc6) printf installed ;; *) exit 1 ;; esac');
    await redis('7.0.15');
  });
  afterEach(async () => {
    process.env.PATH = PATH;
    await folder.remove();
  });

  it('is downloaded with those of its libraries that are not installed, and once for all starts', async () => {
    const first = await fetch();
    expect(first).to.deep.include({ ok: true }).and.have.property('value').that.deep.includes({
      version: '7.0.15',
      source: 'Debian package',
    });
    expect(await downloads()).to.deep.equal(['download redis-tools', 'download libjemalloc2 liblzf1']);
    expect(said.at(-1)).to.equal('Redis: downloading what it needs (libjemalloc2, liblzf1)');
    expect(await fetch()).to.deep.equal(first);
    expect(await downloads()).to.have.length(2);
  });

  it('is found by lists of our own where those of the machine are empty', async () => {
    await aptGet(...hasOwnLists);
    expect(await fetch()).to.have.property('ok', true);
    expect((await downloads()).slice(0, 3)).to.deep.equal(['download redis-tools', 'update', 'download redis-tools']);
    expect(said[1]).to.match(/package lists are empty or old; .*apt-get update/);
  });

  it('says why where such lists cannot be had either', async () => {
    await aptGet('[ "$1" = update ] && echo "E: Temporary failure" || echo "E: Unable to locate package"; exit 100');
    expect(await fetch()).to.deep.equal({
      ok: false,
      problem: 'No Redis is on the PATH, and apt-get could not download one: E: Temporary failure',
    });
    expect(await readdir(cache)).to.deep.equal([]);
  });

  it('says which package could not be unpacked, and why, and leaves nothing behind', async () => {
    await dpkgDeb('echo "no space left"; exit 2');
    expect(await fetch())
      .to.have.property('problem')
      .that.matches(/^dpkg-deb could not unpack \S+\.deb: no space left$/);
    expect(await readdir(cache)).to.deep.equal([]);
  });

  it('is refused where the release has one that is too old', async () => {
    await redis('5.0.14');
    const problem = "This release's Redis is 5.0.14, and 6.2 or newer is needed.";
    expect(await fetch()).to.deep.equal({ ok: false, problem });
  });

  it('is downloaded again where it does not run any more, as after an upgrade of the machine', async () => {
    const first = await fetch();
    if (!first.ok) throw new Error(first.problem);
    await writeFile(join(dirname(first.value.file), 'redis-check-rdb'), '#!/bin/sh\nexit 127\n');
    expect(await fetch()).to.deep.equal(first);
    expect(await downloads()).to.have.length(4);
  });

  const fetch = () => fetchDebianRedis({ cache, say: (line) => said.push(line), env: process.env });
  const logPath = () => join(folder.path, 'downloads');
  const downloads = async () => (await readFile(logPath(), 'utf8')).trimEnd().split('\n');

  /** Told its options in `given`; what it is to do is the first word of the rest. */
  const aptGet = (...lines: string[]) =>
    program(
      'apt-get',
      'given="$*"; until [ "$1" = download ] || [ "$1" = update ]; do shift; done',
      `echo "$*" >> '${logPath()}'`,
      ...lines,
    );
  const dpkgDeb = (...lines: string[]) =>
    program(
      'dpkg-deb',
      '[ "$1" = -f ] && echo "libc6 (>= 2.34), libjemalloc2, liblzf1 (>= 1.5), adduser" && exit',
      ...lines,
    );
  /** It is a server where it is called by the name of one. */
  const redis = (version: string) =>
    program('redis', `case "$0" in */redis-server) echo "Redis server v=${version} sha=0" ;; *) exit 1 ;; esac`);

  async function program(name: string, ...lines: string[]): Promise<void> {
    const path = join(folder.path, 'bin', name);
    await writeFile(path, ['#!/bin/sh', ...lines, ''].join('\n'));
    await chmod(path, 0o755);
  }
});
