import { takeNoArguments } from '../runtime/command-help.js';
import { exitCodes } from '../runtime/exit-codes.js';
import { outliveLostOutput } from '../runtime/lost-output.js';
import { rateLimitSettings } from '../runtime/process-settings.js';
import type { SettingsDeclaration } from '../runtime/settings.js';
import { checksOf, isForStart } from './doctor-checks.js';
import type { Finding } from './finding.js';
import { startSettings } from './start-settings.js';

// The entry of `npm run doctor`: prints of everything that the service stands on what was found, where, and what to do
// about what was not. Exits 0 or 1.

const marks: Record<Finding['verdict'], string> = { good: 'ok ', note: 'but', bad: 'NO ' };

const settings = {
  DATABASE_URL: { type: 'string', description: 'The Postgres to look at; absent, the one that npm start would run.' },
  REDIS_URL: { type: 'string', description: 'The Redis to look at; absent, the one that npm start would run.' },
  ...rateLimitSettings,
  DATA_DIR: startSettings.DATA_DIR,
  PORT: startSettings.PORT,
  NODE_ENV: startSettings.NODE_ENV,
  PLATFORM_TOKEN_KEY: startSettings.PLATFORM_TOKEN_KEY,
} as const satisfies SettingsDeclaration;

takeNoArguments(
  'npm run doctor',
  'Looks at everything that the service stands on, and says what is missing: with DATABASE_URL and REDIS_URL what\n' +
    'npm run api and npm run worker need, otherwise what npm start needs. Exit code 1 where something must be mended.',
  settings,
);
outliveLostOutput(process);

let allGood = true;
for (const { name, check } of checksOf(process.env)) {
  const { verdict, text } = await check();
  allGood &&= verdict !== 'bad';
  process.stdout.write(`${marks[verdict]}  ${name.padEnd(12)} ${text.replaceAll('\n', `\n${' '.repeat(18)}`)}\n`);
}
const ready = isForStart(process.env) ? 'All is there: npm start.' : 'All is there: npm run api, npm run worker.';
process.stdout.write(`${allGood ? ready : 'What says NO above must be mended first.'}\n`);
if (!allGood) process.exitCode = exitCodes.failed;
