import type { Wording } from '../operations/wording.js';

const open = 'The request was queued, but whether it is applied cannot be told yet.';
/** While Postgres lets no commit return (`assertTakesWrites`), even an older change may yet show. */
const whenSettled = 'Ten minutes from now, once /readyz answers 200,';

export const restWording: Wording = {
  keyReused:
    'This Idempotency-Key was used with another request before. Nothing was applied; use a new key for a new request.',
  openOutcome({ materialId, requestId, hasKey, fieldsOnly }) {
    if (hasKey)
      return `${open} Send it again with the same Idempotency-Key: an executed answer to that key settles it.`;
    const material = `/v1/raw-materials/${materialId}`;
    if (fieldsOnly) return `${open} ${whenSettled} it is settled: look at ${material} then.`;
    const history = `${material}/inventory/history?requestId=${requestId}`;
    return `${open} What ${history} shows is applied. ${whenSettled} what it does not show never will be.`;
  },
};
