import { tokenKeyProblem } from '../platform/token-cipher.js';
import { databaseAddress, redisAddress } from '../runtime/process-settings.js';
import type { SettingsDeclaration } from '../runtime/settings.js';

/** The environment of `npm start`; `npm run doctor` reads it too. */
export const startSettings = {
  NODE_ENV: {
    type: 'string',
    description: 'In production npm start is refused: it is for a look, a test and a demo.',
  },
  DATABASE_URL: {
    type: 'string',
    secret: true,
    check: databaseAddress,
    description: 'A Postgres to use in place of the embedded one.',
  },
  REDIS_URL: {
    type: 'string',
    secret: true,
    check: redisAddress,
    description: 'A Redis (6.2 or newer, noeviction) in place of a private one.',
  },
  DATA_DIR: { type: 'string', default: '.data', description: 'Where npm start keeps its data.' },
  PORT: {
    type: 'integer',
    default: 3_000,
    minimum: 0,
    maximum: 65_535,
    description: 'The HTTP port; a busy one moves.',
  },
  PLATFORM_TOKEN_KEY: {
    type: 'string',
    secret: true,
    check: tokenKeyProblem,
    description: "The key that shops' platform tokens are sealed with; absent, one that DATA_DIR keeps.",
  },
} as const satisfies SettingsDeclaration;

/** Why `npm start` will not run in such an environment; undefined where it will. */
export function productionRefusal(nodeEnv: string | undefined): string | undefined {
  if (nodeEnv !== 'production') return undefined;
  return (
    'NODE_ENV is production, where npm start is refused: the embedded Postgres and Redis have no backup and no replica,\n' +
    'and its demo shops would go into a database of yours. With DATABASE_URL and REDIS_URL set, run instead:\n' +
    'npm run migrate, npm run api, npm run worker.'
  );
}
