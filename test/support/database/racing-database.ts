import type { Database } from '../../../shared/database/connect.js';
import type { OperationRef } from '../../../shared/database/operations.js';

/**
 * The same database, except that `between` runs once, between the first and the second message of the apply step, or
 * after the named statement of another message.
 */
export function racingDatabase(database: Database, between: () => Promise<void>, after = 'read'): Database {
  return Object.create(database, { client: { value: racingClient(database, between, `apply-${after}`) } }) as Database;
}

/** The same database, except that `between` runs once, before a connection is taken for the second time. */
export function racingReads(database: Database, between: () => Promise<unknown>): Database {
  const client = database.client as { acquireConnection(): Promise<unknown> };
  let taken = 0;
  const acquireConnection = async () => {
    taken += 1;
    if (taken === 2) await between();
    return client.acquireConnection();
  };
  const racing: unknown = Object.create(client, { acquireConnection: { value: acquireConnection } });
  return Object.create(database, { client: { value: racing } }) as Database;
}

/** A pool whose connections run `between` once, when that statement was answered and before the next message is sent. */
function racingClient(database: Database, between: () => Promise<void>, after: string): unknown {
  const client = database.client as {
    acquireConnection(): Promise<{ query(query: { name?: string; text?: string }): Promise<unknown> }>;
  };
  let isDone = false;
  return Object.create(client, {
    acquireConnection: {
      value: async () => {
        const connection = await client.acquireConnection();
        const query = connection.query.bind(connection);
        connection.query = async (asked) => {
          const answer = await query(asked);
          if (asked.name === after && !isDone) {
            isDone = true;
            connection.query = query;
            // What comes between takes as long as it takes; a worker that stood still would be cut off after two seconds.
            await query({ text: 'SET LOCAL idle_in_transaction_session_timeout = 0' });
            await between();
          }
          return answer;
        };
        return connection;
      },
    },
  });
}

/** Records it as a cancel would if it did not have to wait for the lock. */
export async function recordCancelled(database: Database, { shopId, materialId, id }: OperationRef): Promise<void> {
  await database.raw(
    `INSERT INTO operations (op_id, shop_id, material_id, status, recorded_at) VALUES (?, ?, ?, 'cancelled', now())`,
    [id, shopId, materialId],
  );
}
