import type { Wording } from '../operations/wording.js';

const open = 'The call was queued, but whether it is applied cannot be told yet.';
/** An agent cannot ask `/readyz` (`restWording`), but while that is a 503 a dry run is refused as any write is. */
const whenSettled = 'Ten minutes from now, once adjust_inventory answers a call with dryRun,';

/** In terms of tools: an agent may have nothing but this surface, above all in a shop whose plan has no REST. */
export const toolWording: Wording = {
  keyReused:
    'This idempotencyKey was used with another call before. Nothing was applied; use a new key for a new call.',
  openOutcome({ requestId, hasKey, fieldsOnly }) {
    if (hasKey) {
      return `${open} Repeat the very same call with the same idempotencyKey: an executed answer to that key settles it.`;
    }
    if (fieldsOnly) return `${open} ${whenSettled} it is settled: look at the material with get_raw_material then.`;
    return (
      `${open} What get_inventory_history shows with the requestId ${requestId} is applied. ${whenSettled} what it ` +
      'does not show never will be.'
    );
  },
};
