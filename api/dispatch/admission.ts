import type { AdjustmentRow } from '../../shared/domain/adjustment.js';
import type { Command } from '../../shared/domain/operation.js';
import { updateWeight } from '../../shared/queue/limits.js';
import { notApplied } from './dispatch-outcome.js';
import type { DispatchOutcome } from './dispatch-outcome.js';
import type { Health } from './health.js';
import type { DispatchSettings } from './settings.js';

type Admitted = { ok: true; weight: number; bytes: number } | { ok: false; refused: DispatchOutcome };

/** Back-pressure (pipeline §3): a write for which there is no room is refused at once, before anything is queued. */
export interface Admission {
  /** Refuses a request, or counts it until `leave`. */
  admit(shopId: number, command: Command): Admitted;
  leave(request: { ref: { shopId: number }; bytes: number }): void;
  /** Refuses everything from now on. */
  close(): void;
}

const bytesInFlightMax = 64 * 1_024 * 1_024;

/**
 * The part of the places that is kept for shops below an equal share: two floods of `IN_FLIGHT_SHOP_MAX` each would
 * otherwise shut out all others.
 */
const lastPart = 0.1;

/** Roughly what a row takes as JSON, without its texts. */
const rowBytes = 64;

/** The fields of a row that are texts. */
type RowText = {
  [Name in keyof AdjustmentRow]-?: NonNullable<AdjustmentRow[Name]> extends string ? Name : never;
}[keyof AdjustmentRow];

/** One that is missing here does not compile: uncounted, it would let more into Redis than there is room for. */
const counted: Record<RowText, true> = { locationId: true, reason: true, reference: true };
const rowTexts = Object.keys(counted) as RowText[];

export function createAdmission(settings: DispatchSettings, health: Health): Admission {
  const inFlightByShop = new Map<number, number>();
  let inFlight = 0;
  let bytesInFlight = 0;
  let isClosed = false;

  function refusal(shopId: number, bytes: number): string | undefined {
    if (isClosed) return 'This process is shutting down.';
    const { IN_FLIGHT_SHOP_MAX: shopMax, IN_FLIGHT_MAX: processMax } = settings;
    const ofShop = inFlightByShop.get(shopId) ?? 0;
    if (ofShop >= shopMax) return 'The shop has too many writes in flight.';
    if (inFlight >= processMax) return 'Too many writes are in flight.';
    // One share more than there are shops, for the next one to come. Otherwise neither of two shops would be above
    // half.
    const share = processMax / (inFlightByShop.size + 1);
    if (processMax - inFlight < lastPart * processMax && ofShop >= share)
      return 'Too many writes are in flight, and the shop has its share of them.';
    if (bytesInFlight + bytes > bytesInFlightMax) return 'Too much data is in flight.';
    return health.refusal(shopId);
  }

  return {
    admit(shopId, command) {
      const bytes = bytesOf(command);
      const reason = refusal(shopId, bytes);
      if (reason !== undefined) return { ok: false, refused: notApplied(reason) };
      inFlight += 1;
      bytesInFlight += bytes;
      inFlightByShop.set(shopId, (inFlightByShop.get(shopId) ?? 0) + 1);
      return { ok: true, weight: command.kind === 'adjust' ? command.rows.length : updateWeight.inJob, bytes };
    },
    leave({ ref: { shopId }, bytes }) {
      inFlight -= 1;
      bytesInFlight -= bytes;
      const left = (inFlightByShop.get(shopId) ?? 1) - 1;
      if (left > 0) inFlightByShop.set(shopId, left);
      else inFlightByShop.delete(shopId);
    },
    close() {
      isClosed = true;
    },
  };
}

function bytesOf(command: Command): number {
  if (command.kind === 'update') return JSON.stringify(command.changes).length;
  let bytes = 0;
  for (const row of command.rows) {
    bytes += rowBytes;
    for (const name of rowTexts) bytes += row[name]?.length ?? 0;
  }
  return bytes;
}
