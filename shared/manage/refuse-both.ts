import type { Command } from 'commander';

/** Both forms of an option are one attribute to commander, which lets the last win and finds no conflict of it with itself. */
export function refuseBoth(command: Command, name: string): void {
  const given = new Set<string>();
  for (const form of [`--${name}`, `--no-${name}`]) {
    command.on(`option:${form.slice('--'.length)}`, () => {
      if (given.add(form).size === 1) return;
      command.error(`error: option '--${name}' cannot be used with option '--no-${name}'`);
    });
  }
}
