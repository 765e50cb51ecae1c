import { exitCodes } from './exit-codes.js';
import type { SettingsDeclaration } from './settings.js';

/**
 * Called first by a command that takes all it needs from the environment. Answers `--help`, and refuses any other
 * argument, because whoever gave it expects something that would not happen.
 *
 * @param command as it is typed: `npm run migrate`
 * @param purpose what it does, in a sentence
 */
export function takeNoArguments(command: string, purpose: string, declared: SettingsDeclaration): void {
  const [first] = process.argv.slice(2);
  if (first === undefined) return;
  if (first === '--help' || first === '-h') {
    process.stdout.write(`${command}\n${purpose}\n\n${environmentHelp(declared)}\n`);
    process.exit(0);
  }
  process.stderr.write(
    `${command} takes no argument, so ${first} would be ignored. ${command} -- --help tells more.\n`,
  );
  process.exit(exitCodes.usage);
}

/** What a command takes from the environment, for its help: a heading, and a line for each setting. */
export function environmentHelp(declared: SettingsDeclaration): string {
  const width = Math.max(...Object.keys(declared).map(({ length }) => length)) + 2;
  const lines = Object.entries(declared).map(([name, setting]) => `  ${name.padEnd(width)}${line(setting)}`);
  return ['Environment:', ...lines].join('\n');
}

function line(setting: SettingsDeclaration[string]): string {
  const facts = [String(setting.default ?? ''), bounds(setting)].filter((fact) => fact !== '');
  return facts.length === 0 ? setting.description : `${setting.description} (${facts.join('; ')})`;
}

/** The one place where an operator reads them before a value is refused. */
function bounds(setting: SettingsDeclaration[string]): string {
  if (setting.type !== 'integer') return '';
  const { minimum, maximum } = setting;
  if (minimum === undefined) return maximum === undefined ? '' : `at most ${maximum}`;
  return maximum === undefined ? `from ${minimum}` : `${minimum} to ${maximum}`;
}
