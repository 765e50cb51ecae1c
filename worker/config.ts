import { keyMemoryMsDefault } from '../shared/inventory/time-limits.js';
import { addressOf } from '../shared/runtime/settings.js';
import { tokenKeyProblem } from '../shared/platform/token-cipher.js';
import type { SettingsDeclaration } from '../shared/runtime/settings.js';

/** The environment of a worker process. */
export const settings = {
  DATABASE_URL: {
    type: 'string',
    required: true,
    secret: true,
    check: addressOf('postgres', 'postgresql'),
    description: 'Postgres, with user, password and database.',
  },
  REDIS_URL: {
    type: 'string',
    required: true,
    secret: true,
    check: addressOf('redis', 'rediss'),
    description: 'Redis or Valkey, shared by the API and the workers.',
  },
  LOG_LEVEL: {
    type: 'string',
    enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    description: 'The least severe messages to log; at debug the API has a line for each request.',
  },
  WORKER_LANES: {
    type: 'integer',
    default: 2,
    minimum: 1,
    maximum: 4,
    description: 'Cycles that one worker process runs at once; each holds one Postgres connection while it does.',
  },
  KEY_MEMORY_MS: {
    type: 'integer',
    default: keyMemoryMsDefault,
    minimum: 1,
    maximum: keyMemoryMsDefault,
    description: 'For how long an Idempotency-Key is remembered after its execution, in milliseconds.',
  },
  PLATFORM_SYNC_EVERY_MINUTES: {
    type: 'integer',
    default: 60,
    minimum: 0,
    maximum: 10_080,
    description: "How often a shop's locations and variants are brought in from its commerce platform; 0: never.",
  },
  PLATFORM_TOKEN_KEY: {
    type: 'string',
    secret: true,
    check: tokenKeyProblem,
    description: "The key that shops' platform tokens are sealed with; without it no platform is called.",
  },
  PLATFORM_ALLOW_LOOPBACK: {
    type: 'boolean',
    default: false,
    description:
      "Whether a shop's platform may be a server on 127.0.0.1, as the demo's stand-in is; not in production.",
  },
} as const satisfies SettingsDeclaration;
