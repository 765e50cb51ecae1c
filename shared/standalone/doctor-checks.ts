import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { databaseAddress, rateLimitSettings, redisAddress } from '../runtime/process-settings.js';
import { readSettings } from '../runtime/settings.js';
import { readClusterIdentity } from './cluster-identity.js';
import { lookAtDataFolder, lookAtPlatformTokenKey } from './data-folder.js';
import { bad, good, note } from './finding.js';
import type { Finding } from './finding.js';
import { checkGivenPostgres, checkLimits, checkSchema, identityOf } from './given-postgres.js';
import { checkGivenRedis, checkWorkers } from './given-redis.js';
import { holderOf, lockPath } from './instance-lock.js';
import { portOrFree } from './ports.js';
import { findPostgresBinaries } from './postgres-binaries.js';
import { locatePostgresFolder, lostPostgresFolder } from './postgres-folder.js';
import { runCommand } from './processes.js';
import { findRedisProgram } from './redis-program.js';
import { findServerUser, runAs } from './server-user.js';
import { productionRefusal, startSettings } from './start-settings.js';

/** `engines` in package.json; the first release of 20 with `require(esm)` on by default, which two packages need. */
const nodeWanted = [20, 19] as const;
const require = createRequire(import.meta.url);
const versionMsMax = 10_000;

export interface Check {
  name: string;
  check: () => Finding | Promise<Finding>;
}

/** What the checks are of. */
interface Checked {
  env: NodeJS.ProcessEnv;
  dataFolder: string;
  isForStart: boolean;
}

/** Whether `npm start` would run here. With both servers given, the API and the worker run by themselves. */
export function isForStart({ DATABASE_URL, REDIS_URL }: NodeJS.ProcessEnv): boolean {
  return !(DATABASE_URL && REDIS_URL);
}

/**
 * What to check in such an environment. Servers that are given by URL are asked themselves; what is not given is looked
 * for as `npm start` and `npm test` would.
 */
export function checksOf(env: NodeJS.ProcessEnv): Check[] {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, NODE_ENV, DATA_DIR } = env;
  const dataFolder = DATA_DIR || startSettings.DATA_DIR.default;
  const checked = { env, dataFolder, isForStart: isForStart(env) };
  return [
    { name: 'Node', check: checkNode },
    { name: 'Packages', check: checkPackages },
    ...(databaseUrl
      ? givenPostgresChecks(databaseUrl, checked)
      : [{ name: 'Postgres', check: () => checkEmbeddedPostgres(checked) }]),
    ...(redisUrl ? givenRedisChecks(redisUrl, checked) : [{ name: 'Redis', check: () => checkOwnRedis(checked) }]),
    // Where `npm start` is not what runs, the port may be that of a running API.
    ...(checked.isForStart
      ? [
          { name: 'Data folder', check: () => checkDataFolder(dataFolder) },
          { name: 'Token key', check: () => checkTokenKey(checked) },
          { name: 'Port', check: () => checkPort(checked) },
          ...refusals(NODE_ENV),
        ]
      : []),
  ];
}

function givenPostgresChecks(url: string, { env, isForStart }: Checked): Check[] {
  const problem = databaseAddress(url);
  if (problem !== undefined) return [notAnAddress('Postgres', `DATABASE_URL ${problem}.`)];
  const limits = readSettings(rateLimitSettings, env);
  return [
    { name: 'Postgres', check: () => checkGivenPostgres(url) },
    { name: 'Schema', check: () => checkSchema(url, { isForStart }) },
    {
      name: 'Limits',
      // The API would end with the same words.
      check: () =>
        limits.ok ? checkLimits(url, { limit: limits.values, isForStart }) : bad(limits.problems.join('\n')),
    },
  ];
}

function givenRedisChecks(url: string, { env, dataFolder, isForStart }: Checked): Check[] {
  const problem = redisAddress(url);
  if (problem !== undefined) return [notAnAddress('Redis', `REDIS_URL ${problem}.`)];
  const { DATABASE_URL: databaseUrl } = env;
  const own = async () =>
    databaseUrl ? await identityOf(databaseUrl) : readClusterIdentity(resolve(dataFolder, 'postgres'));
  return [
    { name: 'Redis', check: () => checkGivenRedis(url) },
    { name: 'Workers', check: () => checkWorkers(url, { own, isForStart }) },
  ];
}

/** Nothing is asked, because the driver would take such an address for another server, or for none. */
function notAnAddress(name: string, text: string): Check {
  return { name, check: () => bad(text) };
}

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isNewEnough = major > nodeWanted[0] || (major === nodeWanted[0] && minor >= nodeWanted[1]);
  return isNewEnough
    ? good(`${process.version} (${process.execPath})`)
    : bad(`${process.version} is too old: ${nodeWanted.join('.')} or newer is needed.`);
}

function checkPackages(): Finding {
  const { dependencies } = JSON.parse(readFileSync(packageFile(), 'utf8')) as { dependencies: Record<string, string> };
  const names = Object.keys(dependencies);
  const missing = names.filter((name) => !isInstalled(name));
  return missing.length === 0
    ? good(`all ${names.length} are there`)
    : bad(`Missing: ${missing.join(', ')}. Run: npm ci`);
}

/** The nearest above: three levels up from dist/shared/standalone, two from the source. */
function packageFile(from = new URL('.', import.meta.url)): URL {
  const file = new URL('package.json', from);
  if (existsSync(file) || from.pathname === '/') return file;
  return packageFile(new URL('..', from));
}

/** By its folder: a package need not have an entry that can be resolved (`@bull-board/ui` has none). */
function isInstalled(name: string): boolean {
  return (require.resolve.paths(name) ?? []).some((folder) => existsSync(join(folder, name, 'package.json')));
}

function checkDataFolder(dataFolder: string): Finding {
  const found = lookAtDataFolder(dataFolder);
  if (!found.ok) return bad(found.problem);
  const pid = holderOf(lockPath(resolve(dataFolder)));
  return pid === undefined ? good(found.value) : note(`${found.value}; npm start runs on it already: process ${pid}`);
}

/** Of platform tokens. */
function checkTokenKey({ env, dataFolder }: Checked): Finding {
  const read = readSettings({ PLATFORM_TOKEN_KEY: startSettings.PLATFORM_TOKEN_KEY }, env);
  if (!read.ok) return bad(read.problems.join(' '));
  if (read.values.PLATFORM_TOKEN_KEY !== undefined) return good('that of PLATFORM_TOKEN_KEY');
  const found = lookAtPlatformTokenKey(resolve(dataFolder));
  return found.ok ? good(found.value) : bad(found.problem);
}

function refusals(nodeEnv: string | undefined): Check[] {
  const refusal = productionRefusal(nodeEnv);
  return refusal === undefined ? [] : [{ name: 'NODE_ENV', check: () => bad(refusal) }];
}

async function checkEmbeddedPostgres({ env, dataFolder }: Checked): Promise<Finding> {
  const folder = resolve(dataFolder, 'postgres');
  const lost = lostPostgresFolder(folder);
  if (lost !== undefined) return bad(lost.problem);
  const user = await findServerUser(locatePostgresFolder(folder));
  if (!user.ok) return bad(user.problem);
  const found = await findPostgresBinaries({ user: user.value, say: () => undefined, env });
  if (!found.ok) return bad(found.problem);
  const { postgres } = found.value;
  const { code, output } = await runCommand({
    file: postgres,
    args: ['--version'],
    msMax: versionMsMax,
    cwd: '/',
    ...runAs(user.value),
  });
  if (code !== 0) return bad(`${postgres} does not run: ${output}`);
  return good(`${output}, embedded (${postgres}${user.value ? `, run as ${user.value.name}` : ''})`);
}

async function checkOwnRedis({ env }: Checked): Promise<Finding> {
  const found = await findRedisProgram({ say: () => undefined, env });
  if (!found.ok) return bad(found.problem);
  return good(`${found.value.version}, ${found.value.source} (${found.value.file})`);
}

async function checkPort({ env }: Checked): Promise<Finding> {
  const read = readSettings({ PORT: startSettings.PORT }, env);
  if (!read.ok) return bad(read.problems.join(' '));
  const { PORT: wanted } = read.values;
  if (wanted === 0) return good('0: any that is free');
  const port = await portOrFree(wanted);
  if (port === wanted) return good(`${port} is free`);
  return note(`${wanted} is taken, or closed to this user; npm start takes another by itself`);
}
