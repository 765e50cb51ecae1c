import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { openDataFolder } from './data-folder.js';
import { failed, type Outcome } from './outcome.js';
import { portOrFree } from './ports.js';
import { findPostgresBinaries } from './postgres-binaries.js';
import { runCommand } from './processes.js';
import { checkRedis } from './redis-check.js';
import { findRedisProgram } from './redis-program.js';
import { findServerUser } from './server-user.js';

/** `engines` in package.json; the first release of 20 with `require(esm)` on by default, which two packages need. */
const nodeWanted = [20, 19] as const;
const versionMsMax = 10_000;
const defaultPort = 3_000;

/** Everything `npm start` and `npm test` stand on: what was found, where, and what to do about what was not. Exits 0 or 1. */
const checks: readonly { name: string; check: () => Promise<Outcome<string>> }[] = [
  { name: 'Node', check: checkNode },
  { name: 'Packages', check: checkPackages },
  { name: 'Postgres', check: checkPostgres },
  { name: 'Redis', check: checkGivenOrOwnRedis },
  { name: 'Data folder', check: checkDataFolder },
  { name: 'Port', check: checkPort },
];

let allGood = true;
for (const { name, check } of checks) {
  const outcome = await check();
  allGood &&= outcome.ok;
  const text = outcome.ok ? outcome.value : outcome.problem.replaceAll('\n', `\n${' '.repeat(18)}`);
  process.stdout.write(`${outcome.ok ? 'ok  ' : 'NO  '} ${name.padEnd(12)} ${text}\n`);
}
process.stdout.write(allGood ? 'All is there: npm start.\n' : 'What says NO above must be mended first.\n');
process.exitCode = allGood ? 0 : 1;

function checkNode(): Promise<Outcome<string>> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isNewEnough = major > nodeWanted[0] || (major === nodeWanted[0] && minor >= nodeWanted[1]);
  const outcome = isNewEnough
    ? { ok: true as const, value: `${process.version} (${process.execPath})` }
    : failed(`${process.version} is too old: ${nodeWanted.join('.')} or newer is needed.`);
  return Promise.resolve(outcome);
}

function checkPackages(): Promise<Outcome<string>> {
  const { dependencies } = JSON.parse(readFileSync(packageFile(), 'utf8')) as { dependencies: Record<string, string> };
  const names = Object.keys(dependencies);
  const missing = names.filter((name) => !canResolve(name));
  const outcome =
    missing.length === 0
      ? { ok: true as const, value: `all ${String(names.length)} are there` }
      : failed(`Missing: ${missing.join(', ')}. Run: npm ci`);
  return Promise.resolve(outcome);
}

/** The nearest above: three levels up from dist/shared/standalone, two from the source. */
function packageFile(from = new URL('.', import.meta.url)): URL {
  const file = new URL('package.json', from);
  if (existsSync(file) || from.pathname === '/') return file;
  return packageFile(new URL('..', from));
}

function canResolve(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

async function checkPostgres(): Promise<Outcome<string>> {
  if (process.env.DATABASE_URL) return { ok: true, value: 'the one of DATABASE_URL (npm run migrate will tell)' };
  const user = await findServerUser(resolve(process.env.DATA_DIR || '.data', 'postgres'));
  if (!user.ok) return user;
  const found = await findPostgresBinaries({ user: user.value, say: () => undefined, env: process.env });
  if (!found.ok) return found;
  const as = user.value ? { uid: user.value.uid, gid: user.value.gid } : {};
  const { code, output } = await runCommand({
    file: found.value.postgres,
    args: ['--version'],
    msMax: versionMsMax,
    cwd: '/',
    ...as,
  });
  if (code !== 0) return failed(`${found.value.postgres} does not run: ${output}`);
  return {
    ok: true,
    value: `${output}, embedded (${found.value.postgres}${user.value ? `, run as ${user.value.name}` : ''})`,
  };
}

async function checkGivenOrOwnRedis(): Promise<Outcome<string>> {
  if (process.env.REDIS_URL) {
    const given = await checkRedis(process.env.REDIS_URL);
    return given.ok ? { ok: true, value: `${given.value.version}, the one of REDIS_URL` } : given;
  }
  const found = await findRedisProgram({ say: () => undefined, env: process.env });
  return found.ok ? { ok: true, value: `${found.value.version}, ${found.value.source} (${found.value.file})` } : found;
}

function checkDataFolder(): Promise<Outcome<string>> {
  return Promise.resolve(openDataFolder(process.env.DATA_DIR || '.data'));
}

async function checkPort(): Promise<Outcome<string>> {
  const wanted = Number(process.env.PORT || defaultPort);
  const port = await portOrFree(wanted);
  const value =
    port === wanted ? `${String(port)} is free` : `${String(wanted)} is busy; npm start takes another by itself`;
  return { ok: true, value };
}
