import { withDatabase } from '../database/connect.js';
import type { ConnectOptions, Database } from '../database/connect.js';
import { readDatabaseIdentity } from '../database/database-identity.js';
import {
  codeOf,
  isAnswerOfServer,
  isDriverTimeout,
  isRefusalOfRole,
  reasonWithoutStatement,
} from '../database/errors.js';
import { readForeignLocks } from '../database/foreign-locks.js';
import type { ForeignLocks } from '../database/foreign-locks.js';
import { newerSchemaProblem, readSchemaState } from '../database/schema-state.js';
import { readOldestSnapshot } from '../database/oldest-snapshot.js';
import type { OldestSnapshot } from '../database/oldest-snapshot.js';
import { readCompilingDatabase, readServerFacts } from '../database/server-facts.js';
import type { ServerFacts } from '../database/server-facts.js';
import { readTableFaults } from '../database/table-faults.js';
import type { TableFaults } from '../database/table-faults.js';
import { listShops } from '../database/shops.js';
import { reasonOf } from '../domain/reason-of.js';
import type { rateLimitSettings } from '../runtime/process-settings.js';
import type { SettingsValues } from '../runtime/settings.js';
import type { OwnIdentity } from './cluster-identity.js';
import { bad, good, note } from './finding.js';
import type { Finding } from './finding.js';

/** What the tests run on. Others from `postgresMin` on lack nothing that we know of; some were tried by hand. */
const postgresTested = 18;
/** The first minor version of `postgresTested` without the flaws that were found in earlier ones. */
const postgresMendedMinor = 6;
/** Migration 0003 needs UNIQUE NULLS NOT DISTINCT. */
const postgresMin = 15;
/** If all of them were of one material, a transaction of it takes some 30 ms longer by then (test/bench/README.md). */
const snapshotTransactionsMax = 100_000;
const shopsShownMax = 5;
const sessionsShownMax = 5;
/** A question may meet a lock on a table, which another session may hold for hours. */
const answerMsMax = 5_000;
const postgresAway = 'unknown: Postgres cannot be asked';

/** The Postgres of DATABASE_URL: whether it answers, its version, and whether it has one of the `flaws`. */
export function checkGivenPostgres(url: string): Promise<Finding> {
  return askDatabase(url, async (database) => {
    const facts = await readServerFacts(database);
    if (facts.major < postgresMin) return judgePostgres(facts, url);
    return judgePostgres(facts, url, [
      ...noteOnCompiling(await readCompilingDatabase(database)),
      ...noteOnSnapshot(await readOldestSnapshot(database)),
      ...noteOnLocks(await readForeignLocks(database)),
    ]);
  });
}

const seeSettings = 'in postgresql.conf, and see ALTER DATABASE and ALTER ROLE.';

interface Flaw {
  isThere: (facts: ServerFacts) => boolean;
  says: (facts: ServerFacts) => string;
  remedy: string;
}

/** What would break the service or one of its promises; only the first that is found is told. */
const flaws: readonly Flaw[] = [
  {
    isThere: ({ readOnly }) => readOnly,
    says: () => 'takes no writes: it is a standby, or default_transaction_read_only is on.',
    remedy: 'Let DATABASE_URL lead to the primary, and see ALTER DATABASE and ALTER ROLE.',
  },
  {
    isThere: (facts) => facts.waitsForStandby,
    says: () => 'lets no commit return: a synchronous standby is away.',
    remedy: 'Bring it back, or take it out of synchronous_standby_names in postgresql.conf.',
  },
  {
    isThere: ({ fsync, synchronousCommit }) => fsync !== 'on' || synchronousCommit === 'off',
    says: ({ fsync, synchronousCommit }) =>
      `may lose what it has answered: fsync is ${fsync}, synchronous_commit ${synchronousCommit}.`,
    remedy: `Set both to on ${seeSettings}`,
  },
  {
    isThere: ({ fullPageWrites }) => !fullPageWrites,
    says: () => 'may lose what it has answered when the machine goes down: full_page_writes is off.',
    remedy: 'Set it to on in postgresql.conf.',
  },
  {
    isThere: ({ runsTriggers }) => !runsTriggers,
    says: () => 'runs no trigger, so that lists would count wrongly: session_replication_role is replica.',
    remedy: `Set it to origin ${seeSettings}`,
  },
  {
    isThere: ({ arrayNulls }) => !arrayNulls,
    says: () => 'takes NULL in an array for a text, so that every write fails: array_nulls is off.',
    remedy: `Set it to on ${seeSettings}`,
  },
  {
    isThere: ({ encoding, foldsCase }) => encoding !== 'UTF8' || !foldsCase,
    says: ({ encoding }) => {
      const what =
        encoding === 'UTF8'
          ? 'knows no upper and lower case beyond ASCII, or not that of I'
          : `has the encoding ${encoding}`;
      return `${what}, by which texts are counted, searched and sorted wrongly.`;
    },
    remedy: "Make another: CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'",
  },
  {
    isThere: ({ ordersOtherwise }) => ordersOtherwise,
    says: () => 'orders texts otherwise than its indexes, so that rows are not found, or are written twice.',
    remedy: 'Stop the API and the workers, REINDEX DATABASE …, then ALTER DATABASE … REFRESH COLLATION VERSION.',
  },
];

/**
 * What a Postgres says of itself, judged.
 *
 * @param others notes on what else was seen of it, and on what others do in it
 */
export function judgePostgres(facts: ServerFacts, url: string, others: readonly string[] = []): Finding {
  const { version, major, database } = facts;
  const { hostname, port } = new URL(url);
  const where = `${version}, database ${database} on ${hostname}:${port || '5432'} (DATABASE_URL)`;
  if (major < postgresMin) return bad(`${where} is too old: ${postgresMin} or newer is needed.`);
  const flaw = flaws.find(({ isThere }) => isThere(facts));
  if (flaw !== undefined) return bad(`${where} ${flaw.says(facts)}\n${flaw.remedy}`);
  const notes = [...noteOnVersion(facts), ...others];
  return notes.length === 0 ? good(where) : note([where, ...notes].join('; '));
}

function noteOnVersion({ major, minor }: ServerFacts): string[] {
  if (major !== postgresTested) return [`the tests ran on ${postgresTested}, not on this version`];
  if (minor >= postgresMendedMinor) return [];
  const mended = `${postgresTested}.${postgresMendedMinor}`;
  return [`${mended} mends security flaws of this version: upgrade, at the latest before other machines can reach it`];
}

function noteOnCompiling(database: string | undefined): string[] {
  if (database === undefined) return [];
  return [`jit is on: some searches take a third of a second longer. ALTER DATABASE ${database} SET jit = off`];
}

function noteOnSnapshot(oldest: OldestSnapshot | undefined): string[] {
  if (oldest === undefined || oldest.transactions < snapshotTransactionsMax) return [];
  return [
    `${oldest.holder} holds a snapshot ${oldest.transactions} transactions old: until it lets go, each change of a ` +
      'material takes longer than the one before',
  ];
}

function noteOnLocks(locks: readonly ForeignLocks[]): string[] {
  return locks
    .slice(0, sessionsShownMax)
    .map(({ holder, tables }) => `${holder} locks ${tables}: what needs the same waits until it lets go`);
}

/** Whether the schema is that of this version. `npm start`, where that is what will run, migrates by itself. */
export function checkSchema(url: string, { isForStart }: { isForStart: boolean }): Promise<Finding> {
  const question = async (database: Database) => {
    const state = await readSchemaState(database);
    const { pending, unknown } = state;
    const isNewer = unknown.length > 0;
    if (isNewer && (isForStart || pending.length > 0)) return bad(newerSchemaProblem(state));
    if (pending.length === 0) {
      const fault = judgeTables(await readTableFaults(database));
      return fault ?? (isNewer ? note(newerSchemaProblem(state)) : good('up to date'));
    }
    const missing = `${pending.join(', ')} missing`;
    return isForStart ? note(`${missing}; npm start migrates by itself`) : bad(`${missing}. Run: npm run migrate`);
  };
  return askDatabase(url, question, postgresAway);
}

/** Undefined where there is nothing to be said. */
function judgeTables({ refused, unlogged }: TableFaults): Finding | undefined {
  if (refused.length > 0) {
    return bad(
      `all there, but this role lacks a right to ${refused.join(', ')}: writes that need it wait, and fail.\n` +
        'GRANT SELECT, INSERT, UPDATE, DELETE on the tables, and USAGE on the sequences.',
    );
  }
  if (unlogged.length > 0) {
    return bad(
      `all there, but a crash of Postgres empties ${unlogged.join(', ')}.\n` +
        unlogged.map((name) => `ALTER TABLE ${name} SET LOGGED;`).join(' '),
    );
  }
  return undefined;
}

/** How many requests a shop may make: the limit of all, and the shops that have another. */
export function checkLimits(
  url: string,
  { limit, isForStart }: { limit: SettingsValues<typeof rateLimitSettings>; isForStart: boolean },
): Promise<Finding> {
  const question = async (database: Database) => {
    const { pending } = await readSchemaState(database);
    if (pending.length > 0 && isForStart) return note('unknown until npm start has migrated');
    const shops = await listShops(database);
    const own = shops.filter(({ rateLimitPoints }) => rateLimitPoints !== null);
    const shown = own.slice(0, shopsShownMax).map(({ id, rateLimitPoints }) => `shop ${id} ${String(rateLimitPoints)}`);
    if (own.length > shown.length) shown.push(`${own.length - shown.length} more`);
    const others = shown.length === 0 ? '' : `; limits of their own: ${shown.join(', ')}`;
    return good(
      `${limit.RATE_LIMIT_POINTS} requests in ${limit.RATE_LIMIT_WINDOW_SECONDS} s for each shop (RATE_LIMIT_POINTS, RATE_LIMIT_WINDOW_SECONDS)${others}`,
    );
  };
  return askDatabase(url, question, postgresAway);
}

/** The value is undefined if the database cannot be asked: the check of Postgres says why. */
export async function identityOf(url: string): OwnIdentity {
  const asked = withDatabase(optionsFor(url), readDatabaseIdentity).catch(() => undefined);
  return { ok: true, value: await asked };
}

/**
 * @param away what to say if the database cannot be asked, where the check of Postgres says why; by default, why it
 *   cannot
 */
async function askDatabase(
  url: string,
  question: (database: Database) => Promise<Finding>,
  away?: string,
): Promise<Finding> {
  try {
    return await withDatabase(optionsFor(url), question);
  } catch (error) {
    if (codeOf(error) === '42P01') return bad('unknown: there is no schema yet');
    if (away === undefined) return bad(postgresProblem(error));
    if (isDriverTimeout(error)) return bad(`unknown: no answer within ${answerMsMax / 1_000} s. ${seeLocks}`);
    return bad(codeOf(error) === '42501' ? `unknown: ${reasonWithoutStatement(error)}` : away);
  }
}

const seeLocks = 'If another session holds a lock, pg_locks and pg_stat_activity show which.';

function optionsFor(url: string): ConnectOptions {
  return { url, poolMax: 1, applicationName: 'raw-materials-doctor', answerMsMax };
}

const remedies: Readonly<Record<string, string>> = {
  '28000': 'Mend the user in DATABASE_URL, or its pg_hba.conf.',
  '28P01': 'Mend the user or the password in DATABASE_URL.',
  '3D000': 'Make it (CREATE DATABASE), or mend DATABASE_URL.',
  '42501': 'Let its role in (GRANT CONNECT ON DATABASE … TO …), or mend the user in DATABASE_URL.',
  '53300':
    'Allow more connections (max_connections, or the limit of the role or the database), or let others have fewer.',
};

/** A Postgres that refuses us is running, so nobody is told to start it. */
function postgresProblem(error: unknown): string {
  if (!isAnswerOfServer(error) && !isRefusalOfRole(error)) {
    return `The Postgres of DATABASE_URL does not answer: ${reasonOf(error)}. Start it, or mend DATABASE_URL.`;
  }
  // Without a code it is the driver that speaks: the address has no password.
  const remedy = remedies[codeOf(error) ?? '28P01'] ?? 'See its log.';
  return `The Postgres of DATABASE_URL refuses: ${reasonWithoutStatement(error)}. ${remedy}`;
}
