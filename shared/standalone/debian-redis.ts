import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { failed } from '../runtime/outcome.js';
import type { Failed, Outcome } from '../runtime/outcome.js';
import { runCommand } from './processes.js';
import { isNewEnough, versionOf } from './redis-version.js';
import type { RedisProgram } from './redis-version.js';

interface Deps {
  cache: string;
  say: (line: string) => void;
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

const downloadMsMax = 8_000;
/** Without a network apt gives up after its own 5 s; with a slow one the 9 MB of lists may take longer. */
const updateMsMax = 60_000;
const quickMsMax = 5_000;

/**
 * The server that Debian and Ubuntu keep in `redis-tools`: `redis-check-rdb` is the very same program as
 * `redis-server`, which looks at the name it is called by. (The package `redis-server` holds a link to it and the
 * service files.) Downloaded and unpacked by apt's and dpkg's own tools into the cache folder: no root, nothing
 * installed.
 */
export async function fetchDebianRedis(deps: Deps): Promise<Outcome<RedisProgram>> {
  const home = join(deps.cache, `redis-${releaseName()}`);
  const cached = await programIn(home, deps.env);
  if (cached) return { ok: true, value: cached };
  const partial = mkdtempSync(`${home}.`);
  try {
    const unpacked = await unpack(partial, deps);
    if (!unpacked.ok) return unpacked;
    chmodSync(partial, 0o755);
    await moveInto(home, partial, deps.env);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  const program = await programIn(home, deps.env);
  if (!program) return failed(`The Redis unpacked into ${home} does not run on this machine.`);
  if (isNewEnough(program.version)) return { ok: true, value: program };
  return failed(`This release's Redis is ${program.version}, and 6.2 or newer is needed.`);
}

/**
 * Renames the unpacked folder into place. Of two starts at the same time both download, and one finds the place taken.
 */
async function moveInto(home: string, partial: string, env: NodeJS.ProcessEnv): Promise<void> {
  // An older one that does not run any more, since an upgrade of the machine took its libraries, is removed.
  if (existsSync(home) && !(await programIn(home, env))) rmSync(home, { recursive: true, force: true });
  try {
    renameSync(partial, home);
  } catch (error) {
    if (!existsSync(home)) throw error;
  }
}

async function unpack(folder: string, deps: Deps): Promise<Outcome<void>> {
  deps.say('Redis: none on the PATH; downloading the package redis-tools with apt-get (1 MB, not installed)');
  let options = aptOptions(folder, false);
  let missing = await download(folder, ['redis-tools'], options, deps);
  if (missing && /Unable to locate|no installation candidate|Failed to fetch.*404|Can't find/is.test(missing.problem)) {
    deps.say('Redis: the package lists are empty or old; fetching them into a folder of our own (apt-get update)');
    options = aptOptions(folder, true);
    const update = await apt(['update'], options, updateMsMax, folder, deps);
    missing =
      update.code === 0 ? await download(folder, ['redis-tools'], options, deps) : failed(lastLines(update.output));
  }
  const libraries = missing ? [] : await missingLibraries(folder, deps);
  if (libraries.length > 0) {
    deps.say(`Redis: downloading what it needs (${libraries.join(', ')})`);
    missing = await download(folder, libraries, options, deps);
  }
  if (missing) return failed(`No Redis is on the PATH, and apt-get could not download one: ${missing.problem}`);
  for (const name of packagesIn(folder)) {
    const result = await runCommand({
      file: 'dpkg-deb',
      args: ['-x', join(folder, name), folder],
      msMax: quickMsMax,
      signal: deps.signal,
    });
    if (result.code !== 0) return failed(`dpkg-deb could not unpack ${name}: ${lastLines(result.output)}`);
    rmSync(join(folder, name));
  }
  rmSync(join(folder, 'apt'), { recursive: true, force: true });
  symlinkSync('redis-check-rdb', join(folder, 'usr', 'bin', 'redis-server'));
  return { ok: true, value: undefined };
}

/** With a cache of our own, and lists if wanted, apt needs no root and leaves the system as it was. */
function aptOptions(folder: string, ownLists: boolean): string[] {
  const state = join(folder, 'apt');
  mkdirSync(join(state, 'lists', 'partial'), { recursive: true });
  mkdirSync(join(state, 'cache', 'archives', 'partial'), { recursive: true });
  return [
    `Dir::Cache=${join(state, 'cache')}`,
    ...(ownLists ? [`Dir::State::Lists=${join(state, 'lists')}`] : []),
    'APT::Sandbox::User=',
    'Debug::NoLocking=1',
    'Acquire::Languages=none',
    'Acquire::Retries=0',
    'Acquire::http::Timeout=5',
    'Acquire::https::Timeout=5',
  ].flatMap((option) => ['-o', option]);
}

function apt(args: string[], options: string[], msMax: number, cwd: string, { env, signal }: Deps) {
  return runCommand({
    file: 'apt-get',
    args: ['-q', ...options, ...args],
    msMax,
    cwd,
    signal,
    env: { ...env, LC_ALL: 'C' },
  });
}

async function download(folder: string, names: string[], options: string[], deps: Deps): Promise<Failed | undefined> {
  const { code, output } = await apt(['download', ...names], options, downloadMsMax, folder, deps);
  return code === 0 ? undefined : failed(lastLines(output));
}

/** The libraries among the package's dependencies that are not installed: on Debian 12 libjemalloc2 and liblzf1. */
async function missingLibraries(folder: string, { signal }: Deps): Promise<string[]> {
  const [name = ''] = packagesIn(folder);
  const args = ['-f', join(folder, name), 'Depends'];
  const field = await runCommand({ file: 'dpkg-deb', args, msMax: quickMsMax, signal });
  const wanted = field.output
    .split(',')
    .map((dependency) => /^\s*([a-z0-9.+-]+)/.exec(dependency)?.[1] ?? '')
    .filter((dependency) => /^(lib|lua)/.test(dependency));
  const missing: string[] = [];
  for (const dependency of wanted) {
    const args = ['-W', '-f=${db:Status-Status}', dependency];
    const { output } = await runCommand({ file: 'dpkg-query', args, msMax: quickMsMax, signal });
    if (output !== 'installed') missing.push(dependency);
  }
  return missing;
}

function packagesIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.deb'));
}

async function programIn(home: string, env: NodeJS.ProcessEnv): Promise<RedisProgram | undefined> {
  const libraries = join(home, 'usr', 'lib');
  const file = join(home, 'usr', 'bin', 'redis-server');
  if (!existsSync(file)) return undefined;
  const triplets = existsSync(libraries) ? readdirSync(libraries).map((name) => join(libraries, name)) : [];
  const libraryPath = [...triplets, libraries].join(':');
  const version = await versionOf({ file, libraryPath }, env);
  return version === undefined ? undefined : { file, libraryPath, version, source: 'Debian package' };
}

/** `debian-12-x64`: a cache that several machines share must not mix their libraries. */
function releaseName(): string {
  const text = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const field = (name: string) => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(text)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`;
}

function lastLines(output: string): string {
  return output.split('\n').slice(-3).join('\n');
}
