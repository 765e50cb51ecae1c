import { Command, CommanderError, Help } from 'commander';
import { tokenKeyProblem } from '../platform/token-cipher.js';
import { environmentHelp } from '../runtime/command-help.js';
import { exitCodes } from '../runtime/exit-codes.js';
import { databaseAddress } from '../runtime/process-settings.js';
import type { SettingsDeclaration, SettingsValues } from '../runtime/settings.js';
import { addKeyCommands } from './key-commands.js';
import { addLocationCommands } from './location-commands.js';
import { addMaterialCommands } from './material-commands.js';
import { addPlatformCommands } from './platform-commands.js';
import { createRunCommand, problemDocument } from './run-command.js';
import type { CommandProcess } from './run-command.js';
import { addShopCommands } from './shop-commands.js';
import { addVerifyCommand } from './verify-command.js';

export const manageSettings = {
  DATABASE_URL: {
    type: 'string',
    secret: true,
    check: databaseAddress,
    description: 'The Postgres database; absent, that of npm start.',
  },
  DATA_DIR: { type: 'string', default: '.data', description: 'Where npm start keeps its data.' },
  PLATFORM_TOKEN_KEY: {
    type: 'string',
    secret: true,
    check: tokenKeyProblem,
    description: "The key that shops' platform tokens are sealed with.",
  },
  PLATFORM_ALLOW_LOOPBACK: {
    type: 'boolean',
    description: "Whether a shop's platform may be a server on 127.0.0.1; absent, only beside npm start.",
  },
  NODE_ENV: { type: 'string', description: 'In production PLATFORM_ALLOW_LOOPBACK is refused.' },
  PLATFORM_TOKEN: { type: 'string', secret: true, description: 'The token of a --platform-domain that is given.' },
} as const satisfies SettingsDeclaration;

/** Commander's own words, which ours are added to. */
const help = new Help();

type ManageSettings = SettingsValues<typeof manageSettings>;

/**
 * Runs the one command that the arguments name. Nothing but `process` is read, written or ended with, so that a test
 * can run it without a process of its own. Exit codes: those of `createRunCommand`, and 64 for wrong usage.
 *
 * @param args without the program's own name
 */
export async function runCommandLine(
  args: readonly string[],
  settings: ManageSettings,
  process: CommandProcess,
): Promise<void> {
  const program = createProgram(settings, process);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander has printed what is wrong; its own exit code would be 1, which here means a command that failed.
    process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
    if (error.exitCode !== 0 && args.includes('--json')) process.stdout.write(problemDocument(problemOf(error)));
  }
}

function problemOf({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'No command is named; --help lists them.' : message.replace(/^error: /, '');
}

/** All commands, as commander has them. */
export function createProgram(settings: ManageSettings, process: CommandProcess): Command {
  const program = new Command('manage')
    .description('Shops, keys, locations and materials, the mirror of the platform, and the check of the ledger.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(text),
      writeErr: (text) => process.stderr.write(text),
    })
    .configureHelp({
      optionDescription: (option) => `${help.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    })
    .showHelpAfterError('(--help tells more)')
    .addHelpText('after', `\n${environmentHelp(manageSettings)}`);
  // Beside npm start, where DATABASE_URL is not needed, the demo shop's platform is its stand-in.
  const loopback = { allowLoopback: settings.PLATFORM_ALLOW_LOOPBACK ?? settings.DATABASE_URL === undefined };
  const run = createRunCommand({
    databaseUrl: settings.DATABASE_URL,
    platformTokenKey: settings.PLATFORM_TOKEN_KEY,
    platformToken: settings.PLATFORM_TOKEN,
    ...loopback,
    dataFolder: settings.DATA_DIR,
    process,
  });
  addShopCommands(program, run, loopback);
  addKeyCommands(program, run);
  addLocationCommands(program, run);
  addMaterialCommands(program, run);
  addVerifyCommand(program, run);
  addPlatformCommands(program, run);
  return program;
}
