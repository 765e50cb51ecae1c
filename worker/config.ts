import { keyMemoryMsDefault } from '../shared/inventory/time-limits.js';
import { platformSettings } from '../shared/platform/platform-settings.js';
import { processSettings } from '../shared/runtime/process-settings.js';
import type { SettingsDeclaration } from '../shared/runtime/settings.js';

/** The environment of a worker process. */
export const workerSettings = {
  ...processSettings,
  ...platformSettings,
  WORKER_LANES: {
    type: 'integer',
    default: 2,
    minimum: 1,
    maximum: 4,
    description:
      'Lanes of one worker process: each applies writes, one transaction at a time, on one Postgres connection.',
  },
  KEY_MEMORY_MS: {
    type: 'integer',
    default: keyMemoryMsDefault,
    minimum: 1,
    maximum: keyMemoryMsDefault,
    description: 'For how long an Idempotency-Key is remembered after its execution, in milliseconds.',
  },
  LEDGER_CHECK_ROWS_PER_MINUTE: {
    type: 'integer',
    default: 10_000,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Rows that a worker reads a minute to check what it has just changed: of each material its levels, twice, and their last entries; 0: none.',
  },
  PLATFORM_SYNC_EVERY_MINUTES: {
    type: 'integer',
    default: 60,
    minimum: 0,
    maximum: 10_080,
    description:
      "How often a shop's locations and variants are brought in from its commerce platform; 0: never. A run that can go on where it was cut off is tried again after an hour at the latest.",
  },
} as const satisfies SettingsDeclaration;
