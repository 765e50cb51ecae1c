import type { Wording } from '../operations/wording.js';

const open = 'The request was queued, but whether it is applied cannot be told yet.';

export const restWording: Wording = {
  keyReused:
    'This Idempotency-Key was used with another request before. Nothing was applied; use a new key for a new request.',
  openOutcome({ materialId, requestId, hasKey, fieldsOnly }) {
    if (hasKey)
      return `${open} Send it again with the same Idempotency-Key: an executed answer to that key settles it.`;
    const material = `/v1/raw-materials/${materialId}`;
    if (fieldsOnly) return `${open} Ten minutes from now it is settled: look at ${material} then.`;
    const history = `${material}/inventory/history?requestId=${requestId}`;
    return `${open} What ${history} shows is applied; what it does not show ten minutes from now never will be.`;
  },
};
