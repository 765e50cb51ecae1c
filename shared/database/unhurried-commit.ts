/**
 * A condition that is always true, for a statement whose changes are no loss if a crash forgets them. Its commit waits
 * neither for the disk nor for a synchronous standby. While no such standby is there, every other commit waits for one,
 * and what only accompanies the work must not take its connections away.
 */
export const commitsUnhurried = `(SELECT set_config('synchronous_commit', 'off', true)) = 'off'`;
