import { keyMemoryMsDefault } from '../shared/inventory/time-limits.js';
import type { SettingsDeclaration } from '../shared/runtime/settings.js';

/** The environment of a worker process. */
export const settings = {
  DATABASE_URL: { type: 'string', required: true, secret: true, description: 'Where Postgres is: postgres://…' },
  REDIS_URL: { type: 'string', required: true, secret: true, description: 'Where Redis or Valkey is: redis://…' },
  LOG_LEVEL: {
    type: 'string',
    enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    description: 'The least severe log line that is written.',
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
