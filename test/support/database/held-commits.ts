import type { Database } from '../../../shared/database/connect.js';

const lockNumber = 7;

/**
 * Holds up every COMMIT of a transaction that adds to the table or changes it, as one that waits for a standby: what it
 * wrote is done while nobody is told.
 *
 * @returns lets them end
 */
export async function holdCommits(database: Database, table: string): Promise<() => Promise<void>> {
  await database.raw(`
    CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(${String(lockNumber)}); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait_for_test AFTER INSERT OR UPDATE ON ${table}
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_test()`);
  const holder = await database.transaction();
  await holder.raw('SELECT pg_advisory_xact_lock(?)', [lockNumber]);
  return async () => {
    await holder.rollback();
  };
}
