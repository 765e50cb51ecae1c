import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { SecureContextOptions } from 'node:tls';
import { addressOf } from './settings.js';
import type { SettingsDeclaration } from './settings.js';

/**
 * The checks of the two addresses, the same for all who read them. The files that an address of Postgres names are
 * looked at as well: the driver opens them at each connection, also with `sslmode=disable`.
 */
export function databaseAddress(value: string): string | undefined {
  return anyDatabaseAddress(value) ?? certificateProblem(new URL(value).searchParams);
}

const anyDatabaseAddress = addressOf('postgres', 'postgresql');

/** By the name of their parameter, what is in them, as node:tls calls it. */
const certificateFiles: Readonly<Record<string, keyof SecureContextOptions>> = {
  sslrootcert: 'ca',
  sslcert: 'cert',
  sslkey: 'key',
};

function certificateProblem(parameters: URLSearchParams): string | undefined {
  for (const [name, content] of Object.entries(certificateFiles)) {
    // Of a name that is given twice, the driver takes the last.
    const path = parameters.getAll(name).at(-1);
    if (path === undefined || path === '') continue;
    try {
      createSecureContext({ [content]: readFileSync(path) });
    } catch (error) {
      return `names in ${name} the file ${path}, which cannot be used: ${(error as Error).message}`;
    }
  }
  return undefined;
}

export function redisAddress(value: string): string | undefined {
  const problem = anyRedisAddress(value);
  // Of `/one` the driver asks for the number NaN, and of `/1st` for 1.
  if (problem !== undefined || /^\/?\d*$/.test(new URL(value).pathname)) return problem;
  return 'must end with the number of a database, as /1, or with its port';
}

const anyRedisAddress = addressOf('redis', 'rediss');

/** What every process of the service reads: where the two stores are, and how much is logged. */
export const processSettings = {
  DATABASE_URL: {
    type: 'string',
    required: true,
    secret: true,
    check: databaseAddress,
    description: 'Postgres, with user, password and database.',
  },
  REDIS_URL: {
    type: 'string',
    required: true,
    secret: true,
    check: redisAddress,
    description: 'Redis or Valkey, shared by the API and the workers of one database.',
  },
  LOG_LEVEL: {
    type: 'string',
    default: 'info',
    enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    description: 'The least severe messages to log; at debug the API has a line for each request.',
  },
  NODE_ENV: {
    type: 'string',
    description:
      '`production`, as in the image: `PLATFORM_ALLOW_LOOPBACK` is refused, and logs are JSON on terminals too.',
  },
  ADMIN_HOST: {
    type: 'string',
    default: '127.0.0.1',
    description: 'The address that /metrics is served on, without keys: the loopback, or a network of your own.',
  },
  ADMIN_PORT: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    description: 'The port of /metrics, one for each process; 0 takes a free one. Without it there is none.',
  },
} as const satisfies SettingsDeclaration;

/** A Node timer set beyond 2^31 ms fires at once. */
const timerSecondsMax = 2_147_483;

/** The budget of a shop without one of its own: the API grants it, and doctor says what it is. */
export const rateLimitSettings = {
  RATE_LIMIT_POINTS: {
    type: 'integer',
    default: 600,
    minimum: 1,
    description: 'Requests a shop may make in a window, unless it has a limit of its own.',
  },
  RATE_LIMIT_WINDOW_SECONDS: {
    type: 'integer',
    default: 60,
    minimum: 1,
    maximum: timerSecondsMax,
    description: 'The length of that window.',
  },
} as const satisfies SettingsDeclaration;
