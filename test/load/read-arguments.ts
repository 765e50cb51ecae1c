import { exitCodes } from '../../shared/runtime/exit-codes.js';

/**
 * What the person who typed a command asked for. Ends the process if that was `--help`, or, with its sentence, if
 * `read` throws.
 *
 * @param command as it is typed: `npm run load`
 */
export function readArguments<T>(command: string, usage: string, read: (args: string[]) => T): T {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage);
    return process.exit(0);
  }
  try {
    return read(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${command} -- --help`);
    return process.exit(exitCodes.usage);
  }
}
