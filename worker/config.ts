import { keyMemoryMsDefault } from '../shared/inventory/time-limits.js';
import { addressOf } from '../shared/runtime/settings.js';
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
} as const satisfies SettingsDeclaration;
