import type { Knex } from 'knex';

/**
 * When the run of a mirror last brought in a page. A run that was cut off goes on for a day after that. It was a day
 * after its start, so that a shop whose run takes longer, since others go first after each slice, was begun anew each
 * day and never came to its end. No other column tells: `attempted_at` also moves when a run gets no further.
 *
 * A process of the release before works as it did. Null where only such processes have brought in pages.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE platform_syncs ADD COLUMN page_at timestamptz(3)');
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE platform_syncs DROP COLUMN page_at');
}
