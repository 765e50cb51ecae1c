import { assertTimeLimits } from '../../shared/inventory/time-limits.js';
import { leaseMs } from '../../shared/queue/leases.js';
import type { SettingsDeclaration, SettingsValues } from '../../shared/runtime/settings.js';

const waitMsDefault = 10_000;
assertTimeLimits({ leaseMs, waitMs: waitMsDefault });

/**
 * How long a cancellation is tried after the wait, in milliseconds, while a worker holds the material or Postgres is
 * away (pipeline §2 "Limits").
 */
export const graceMs = 1_000;

/** The settings of the API's half of the pipeline, spread into the API's declaration. */
export const dispatchSettings = {
  WAIT_MS: {
    type: 'integer',
    default: waitMsDefault,
    minimum: 1_000,
    maximum: 60_000,
    description: 'How long a write waits for its outcome before it is cancelled, in milliseconds.',
  },
  IN_FLIGHT_SHOP_MAX: {
    type: 'integer',
    default: 1_500,
    minimum: 1,
    description: 'Writes of one shop that one API process holds at once; above it: 503.',
  },
  IN_FLIGHT_MAX: {
    type: 'integer',
    default: 3_000,
    minimum: 1,
    description: 'Writes that one API process holds at once; above it, or with more than 64 MiB of them: 503.',
  },
} as const satisfies SettingsDeclaration;

export type DispatchSettings = SettingsValues<typeof dispatchSettings>;
