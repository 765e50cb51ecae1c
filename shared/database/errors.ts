import { reasonOf } from '../domain/reason-of.js';
import pg from 'pg';

/**
 * The code of an error, if it has one: the SQLSTATE of what Postgres answered, or what the socket or TLS says
 * (`ECONNREFUSED`, `CERT_HAS_EXPIRED`).
 */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/**
 * The name of the constraint that a statement violated, if that is what went wrong. This is the one place at which an
 * error of the database becomes an expected failure; migrations name their constraints for it.
 */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}

/**
 * Answers of Postgres to what may succeed when it is tried again (pipeline §3 "Poison"): serialisation failures and
 * deadlocks, lock and statement timeouts, a read-only or closing server, lost connections (class 08), exhausted
 * resources (53), a database that takes no connections (55000: our statements meet it nowhere else), and failures of
 * the operating system (58). Refusals of the role, below, are tried again as well.
 */
const transientStates = new Set(['40001', '40P01', '55000', '55P03', '57014', '25P03', '25P04', '25006']);
const transientClasses = ['08', '53', '57P', '58'];

/** No such database, no right to a table. */
const refusalsOfRole = new Set(['3D000', '42501']);
/** Invalid authorization: a wrong password, no line in pg_hba.conf. */
const refusedSessionClass = '28';
/** What the driver says if the server asks for a password and the address has none. */
const missingPassword = /(?:^| - )SASL: /;

/**
 * What node-postgres and Knex' pool say, without a code, if the server is away or goes away. Knex puts the statement
 * and a dash before the driver's words.
 */
const connectionFailure =
  /(?:^| - )(Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|Query read timeout|Knex: Timeout acquiring a connection|no connection came free|the database system is|The server does not support SSL connections|the transaction ended with)/;
const socketFailure = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * A server without TLS, or whose certificate or ours fails (node:tls). Nothing was asked yet, and somebody can mend it.
 */
const tlsFailure = /^(?:CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_)/;

/**
 * A file that the address names could not be read for a new connection. It was there when the process started
 * (`databaseAddress`), so somebody is replacing it: nothing was asked, and none of the requests is to blame.
 */
export class CertificateFault extends Error {}

/**
 * Whether the same may succeed when it is tried again. It may be to blame all the same: an operation may be too large
 * for its time, or may itself have ended the session that worked on it (`isBlameless`).
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof CertificateFault) return true;
  const code = codeOf(error);
  if (code !== undefined) {
    if (transientStates.has(code) || socketFailure.has(code) || tlsFailure.test(code)) return true;
    // Also for a socket in the file system, which does not exist while its server is not running (ENOENT).
    if ((error as NodeJS.ErrnoException).syscall === 'connect') return true;
    if (transientClasses.some((prefix) => code.startsWith(prefix))) return true;
    // Another writer recorded the operation first: the next run finds it on record.
    if (code === '23505' && (error as { constraint?: string }).constraint === 'operations_pkey') return true;
  }
  if (isRefusalOfRole(error)) return true;
  if (error instanceof AggregateError) return error.errors.every(isTransient);
  return connectionFailure.test(error.message);
}

/**
 * Whether Postgres refuses our role, whatever it asks for: the password was changed, or a privilege or the database is
 * gone. This passes once somebody has mended it.
 */
export function isRefusalOfRole(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === undefined) return missingPassword.test(error.message);
  return refusalsOfRole.has(code) || code.startsWith(refusedSessionClass);
}

/**
 * A transient fault as a sentence for a person: the database refuses our role, or it answered that it cannot
 * do it (a standby, a full disk), or it could not be reached.
 */
export function outageSentence(error: unknown): string {
  return `The database ${failureOf(error)}: ${reasonWithoutStatement(error)}.`;
}

function failureOf(error: unknown): string {
  if (isRefusalOfRole(error)) return 'refuses us';
  return isAnswerOfServer(error) ? 'could not do it' : 'could not be reached';
}

/**
 * Whether the server ended a statement that took, or waited for a lock, too long. A smaller one, or one without that
 * lock, may succeed.
 */
export function isServerTimeout(error: unknown): error is Error {
  const code = codeOf(error);
  return code === '55P03' || code === '57014';
}

/** Whether the server ended a statement because it and another session's each waited for the other. */
export function isDeadlock(error: unknown): boolean {
  return codeOf(error) === '40P01';
}

const preparedStatementFaults = new Set(['0A000', '26000', '42P05']);

/**
 * Whether a prepared statement cannot be used on its connection any more: a migration has changed a column of its
 * result; or a pooler that does not track prepared statements has none of this name, or another one. On a new
 * connection it works.
 */
export function isPreparedStatementFault(error: unknown): boolean {
  return preparedStatementFaults.has(codeOf(error) ?? '');
}

/**
 * Whether the driver gave up a statement that took longer than `answerMsMax`. The server still works on it, whereas the
 * server ended the statement of an `isServerTimeout`.
 */
export function isDriverTimeout(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith('Query read timeout');
}

/** SQLSTATE of a write in a read-only session: on a standby, or where a role or database is set to it. */
export const readOnlyState = '25006';
const diskFull = '53100';

/** Whether Postgres has no room for what it is to write, whoever asks. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === diskFull;
}

/** SQLSTATE of a login for which Postgres has no connection left. */
export const noSlotState = '53300';

/** Read-only, a full disk, no connection left, none let in. */
const refusalsOfAll = new Set([readOnlyState, diskFull, noSlotState, '55000']);

/** Whether Postgres refuses whatever we send, so that the refusal says nothing about what was sent. */
export function isRefusalOfAll(error: unknown): boolean {
  return isRefusalOfRole(error) || refusalsOfAll.has(codeOf(error) ?? '');
}

/** The errors themselves, since a driver's message and code do not say in which phase it failed. */
const blameless = new WeakSet<Error>();

/** Waits for what sends nothing of the operations, and marks what it fails with. */
export async function markBlameless<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof Error) blameless.add(error);
    throw error;
  }
}

/**
 * Whether nothing of the operations was sent, so that none of them is to blame: there was no session to work in
 * (Postgres is away or still starting, or no connection was free), or they were only to be recorded as failed. A
 * session that ends at work is another matter: what it worked on may have ended it.
 */
export function isBlameless(error: unknown): boolean {
  return error instanceof Error && blameless.has(error);
}

/** As `reasonOf`, without the statement that Knex puts before it, which may be a page long. */
export function reasonWithoutStatement(error: unknown): string {
  return reasonOf(error).split(' - ').at(-1) ?? '';
}

/** Whether Postgres itself said so; otherwise the connection to it failed. */
export function isAnswerOfServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error;
}
