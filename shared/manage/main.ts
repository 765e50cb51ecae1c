import { loopbackProblems } from '../platform/platform-settings.js';
import { outliveLostOutput } from '../runtime/lost-output.js';
import { settingsOrExit } from '../runtime/settings.js';
import { manageSettings, runCommandLine } from './command-line.js';
import { problemDocument } from './run-command.js';

// The entry of `npm run manage -- …`, the operators' command line (platform §3).

outliveLostOutput(process);
const args = process.argv.slice(2);
const settings = settingsOrExit(manageSettings, process.env, loopbackProblems, (problem) => {
  if (args.includes('--json')) process.stdout.write(problemDocument(problem));
});
await runCommandLine(args, settings, process);
