import type { Command } from 'commander';

/** Refuses `--x` beside `--no-x`: commander keeps both in one attribute, so the last wins and it sees no conflict. */
export function refuseBoth(command: Command, name: string): void {
  const given = new Set<string>();
  for (const form of [`--${name}`, `--no-${name}`]) {
    command.on(`option:${form.slice('--'.length)}`, () => {
      if (given.add(form).size === 1) return;
      command.error(`error: option '--${name}' cannot be used with option '--no-${name}'`);
    });
  }
}
