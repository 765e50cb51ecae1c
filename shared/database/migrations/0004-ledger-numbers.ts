import type { Knex } from 'knex';

/**
 * What was asked for is a number. NaN is one to Postgres, greater than all others, and no other constraint of the ledger
 * looks at these two columns (reliability §1). Validated apart from being added, so that writers wait for neither.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE ledger ADD CONSTRAINT ledger_requested_number
      CHECK (coalesce(requested_delta, requested_absolute) <> 'NaN') NOT VALID;
    ALTER TABLE ledger VALIDATE CONSTRAINT ledger_requested_number;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE ledger DROP CONSTRAINT ledger_requested_number');
}
