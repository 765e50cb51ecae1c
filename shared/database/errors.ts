/**
 * Postgres' answers that say nothing against the operation itself and are simply tried again (pipeline §3 "Poison"):
 * serialisation and deadlock, lock and statement timeouts, a read-only or closing server, lost connections (class 08),
 * exhausted resources (53), a database that takes no connections (55000: our statements meet it nowhere else), and
 * trouble of the operating system (58). Refusals of the role, below, are tried again as well.
 */
const transientStates = new Set(['40001', '40P01', '55000', '55P03', '57014', '25P03', '25P04', '25006']);
const transientClasses = ['08', '53', '57P', '58'];

/** No such database, no right to a table. */
const refusalsOfRole = new Set(['3D000', '42501']);
/** Invalid authorization: another password, no line in pg_hba.conf. */
const refusedSessionClass = '28';
/** The driver's own, where the server asks for a password and the address has none. */
const missingPassword = /(?:^| - )SASL: /;

/**
 * What node-postgres, Knex' pool and the socket say without an SQLSTATE when the server is away or goes away. Knex puts
 * the statement and a dash before what the driver said.
 */
const connectionFailure =
  /(?:^| - )(Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|Query read timeout|Timeout acquiring a connection|Knex: Timeout acquiring a connection|the database system is|The server does not support SSL connections|timeout exceeded when trying to connect|the transaction ended with)/;
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

/** A server without TLS, or with a certificate that fails (node:tls). Somebody must mend it; nothing was asked yet. */
const tlsFailure = /^(?:CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_)/;

/**
 * True where trying the same again may succeed, since the fault lies with the infrastructure and not with the request.
 */
export function isInfrastructureError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, constraint } = error as Error & { code?: string; constraint?: string };
  if (code !== undefined) {
    if (transientStates.has(code) || socketFailure.has(code) || tlsFailure.test(code)) return true;
    // This includes a socket in the file system, which does not exist while its server is not there.
    if ((error as NodeJS.ErrnoException).syscall === 'connect') return true;
    if (transientClasses.some((prefix) => code.startsWith(prefix))) return true;
    // Another writer recorded the operation first: the next run finds it on record.
    if (code === '23505' && constraint === 'operations_pkey') return true;
  }
  if (isRefusalOfRole(error)) return true;
  if (error instanceof AggregateError) return error.errors.every(isInfrastructureError);
  return connectionFailure.test(error.message);
}

/**
 * Whether Postgres refuses our role, and not what was asked: a password was changed, or a right or a database taken
 * away. It passes once somebody has mended it.
 */
export function isRefusalOfRole(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as Error & { code?: string };
  if (code === undefined) return missingPassword.test(error.message);
  return refusalsOfRole.has(code) || code.startsWith(refusedSessionClass);
}

/** Whether the database is away, or cannot do it for now. A refusal of our role does not pass by itself: it is none. */
export function isOutage(error: unknown): boolean {
  return isInfrastructureError(error) && !isRefusalOfRole(error);
}

/**
 * What an outage is, as a sentence for a person. If the database answers, the fault is in what it says (a standby, a
 * full disk), and not in the way to it.
 */
export function outageSentence(error: unknown): string {
  const what = isAnswerOfServer(error) ? 'could not do it' : 'could not be reached';
  return `The database ${what}: ${reasonWithoutStatement(error)}.`;
}

/** Whether a statement, or its wait for a lock, took too long: a smaller one, or one without that lock, may pass. */
export function isTimeout(error: unknown): error is Error {
  return isLockTimeout(error) || (error as { code?: string } | null)?.code === '57014';
}

/** Whether that was the wait for a lock, which another session holds. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string } | null)?.code === '55P03';
}

const lostNames: ReadonlySet<unknown> = new Set(['0A000', '26000', '42P05']);

/**
 * Whether a statement's name failed on its connection: its plan no longer fits, since a newer version has changed a
 * column; or, behind a pooler that does not keep names, it is missing or taken. A new connection has no such names.
 */
export function isLostName(error: unknown): boolean {
  return lostNames.has((error as { code?: unknown } | null)?.code);
}

/** Whether the driver gave a statement up that overstayed `answerMsMax`; the server is still at it. */
export function isOverstay(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith('Query read timeout');
}

/**
 * Read-only, a full disk, no connection left, none let in: Postgres then refuses everybody, so it says nothing about
 * what was sent.
 */
const refusalsOfAll = new Set(['25006', '53100', '53300', '55000']);

export function isRefusalOfAll(error: unknown): boolean {
  return isRefusalOfRole(error) || refusalsOfAll.has((error as { code?: string } | null)?.code ?? '');
}

/**
 * What went wrong, for a person: a host with several addresses fails once for each. Drivers name host and port, never
 * the password.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** As `reasonOf`, without the statement that Knex puts before it, which may be a page long. */
export function reasonWithoutStatement(error: unknown): string {
  return reasonOf(error).split(' - ').at(-1) ?? '';
}

/** Whether it was Postgres that said so, and not the way to it that failed. */
export function isAnswerOfServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error;
}
