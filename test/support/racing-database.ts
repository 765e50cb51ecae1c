import type { Database } from '../../shared/database/connect.js';
import type { OperationRef } from '../../shared/database/operations.js';

/** The same database, except that `between` runs once, between the first and the second message of the apply step. */
export function racingDatabase(database: Database, between: () => Promise<void>): Database {
  return Object.create(database, { client: { value: racingClient(database, between) } }) as Database;
}

/** A pool whose connections run `between` once, after the first message was answered and before the second is sent. */
function racingClient(database: Database, between: () => Promise<void>): unknown {
  const client = database.client as {
    acquireConnection(): Promise<{ query(query: { text: string }): Promise<unknown> }>;
  };
  let isDone = false;
  return Object.create(client, {
    acquireConnection: {
      value: async () => {
        const connection = await client.acquireConnection();
        const query = connection.query.bind(connection);
        connection.query = async (asked) => {
          const answer = await query(asked);
          if (asked.text.includes("'clock'") && !isDone) {
            isDone = true;
            connection.query = query;
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
