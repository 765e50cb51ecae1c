import type { Socket } from 'node:net';
import type { Knex } from 'knex';
import type { Client } from 'pg';
import { codeOf, noSlotState } from './errors.js';

/** A connection of node-postgres. Once `__knex__disposed` is set, Knex closes it instead of giving it out again. */
export type RawConnection = Client & { __knex__disposed?: unknown };

export interface ConnectionPool {
  acquireConnection: () => Promise<RawConnection>;
  releaseConnection: (connection: RawConnection) => Promise<void>;
}

/** The pool behind a `Database`, whose type of its client is `any`. */
export function connectionPool(database: Knex): ConnectionPool {
  return database.client as ConnectionPool;
}

interface SessionOpener {
  acquireRawConnection: () => Promise<RawConnection>;
  destroyRawConnection: (session: RawConnection) => Promise<void>;
}

/** How PgBouncer refuses a client beyond one of its limits. The code that it sends (08P01) stands for much else. */
const poolerIsFull = /^(?:no more connections allowed|client connections exceeded)\b/;

/**
 * Whether Postgres, or a PgBouncer before it, has no connection left for us: opens a session beside the pool, and
 * closes it. Never rejects.
 */
export async function isServerFull(database: Knex): Promise<boolean> {
  const opener = database.client as SessionOpener;
  try {
    await opener.destroyRawConnection(await opener.acquireRawConnection());
    return false;
  } catch (error) {
    return codeOf(error) === noSlotState || (error instanceof Error && poolerIsFull.test(error.message));
  }
}

/** What a connection writes to, which node-postgres does not type. */
export function streamOf(connection: Client): Socket {
  return protocolOf(connection).stream;
}

/** What the server says of an error: how it goes on, and the SQLSTATE. */
interface ServerError {
  severity?: string;
  code?: string;
}

/** Calls `tell` for each error that the server sends, before whoever asked hears of it. */
export function onServerError(connection: Client, tell: (error: ServerError) => void): void {
  protocolOf(connection).on('errorMessage', tell);
}

/** Destroys the socket at the first fault of the connection itself; an error that the server answers is not one. */
export function endOnFault(connection: Client): void {
  const protocol = protocolOf(connection);
  protocol.once('error', () => protocol.stream.destroy());
}

interface Protocol {
  stream: Socket;
  on: (event: 'errorMessage', listener: (error: ServerError) => void) => void;
  once: (event: 'error', listener: () => void) => void;
}

function protocolOf(connection: Client): Protocol {
  return (connection as unknown as { connection: Protocol }).connection;
}
