/**
 * A condition that is always true, and lets its transaction commit asynchronously: without waiting for the disk or for
 * a synchronous standby. For changes that are no loss if a crash of Postgres undoes them. While a synchronous standby
 * is away, every other commit waits for it, and such changes must not use up the connections by waiting too.
 */
export const commitsAsync = `(SELECT set_config('synchronous_commit', 'off', true)) = 'off'`;
