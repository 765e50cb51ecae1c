import { expect } from 'chai';
import fc from 'fast-check';
import { raceCommand } from './model/race-command.js';
import { readCommands } from './model/read-commands.js';
import { updateCommand } from './model/update-command.js';
import { adjustCommand, repeatCommand, switchCommand } from './model/write-commands.js';

/** As a command shows what it was made of: a member with a value, and not `[]`. */
const hasMember = (name: string) => new RegExp(`"${name}":(?!\\[\\])`);

describe('the commands of the model of T2', () => {
  it('have each of their optional parts now and then: one that never came would be compared with nothing', () => {
    const commands = [adjustCommand, updateCommand, raceCommand, repeatCommand, switchCommand, ...readCommands];
    const shown = fc.sample(fc.oneof(...commands), { numRuns: 3_000, seed: 1 }).map(String);
    const parts: [command: string, names: string[]][] = [
      ['adjust', ['bad', 'delta', 'reason']],
      ['update', ['stock', 'bad']],
      ['side by side', ['delta', 'reason', 'stock', 'bad']],
      ['read history', ['locationId', 'back']],
      ['list', ['search', 'usageFilter', 'originFilter', 'sortBy', 'sortOrder', 'vendorFilter', 'page', 'pageSize']],
    ];
    for (const [command, names] of parts) {
      const own = shown.filter((title) => title.startsWith(command));
      for (const name of names) {
        const having = own.filter((title) => hasMember(name).test(title)).length;
        expect(having, `${command}: with ${name}, of ${own.length}`).to.be.within(1, own.length - 1);
      }
    }
  });
});
