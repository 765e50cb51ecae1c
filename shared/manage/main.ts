import { outliveLostOutput } from '../runtime/lost-output.js';
import { settingsOrExit } from '../runtime/settings.js';
import { manageSettings, runCommandLine } from './command-line.js';

// The entry of `npm run manage -- …`, the operators' command line (platform §3).

const settings = settingsOrExit(manageSettings, process.env);
outliveLostOutput(process);
await runCommandLine(process.argv.slice(2), settings, process);
