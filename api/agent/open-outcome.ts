import { fail } from '../../shared/domain/errors.js';
import type { Caller } from '../caller.js';
import { answered } from '../operations/dispatch-answer.js';
import type { Answered } from '../operations/dispatch-answer.js';

interface Asked {
  idempotencyKey?: string;
  /** A change that moves no stock: the history has nothing of it. */
  fieldsOnly?: boolean;
}

/**
 * Restates an open outcome in terms of tools: the operation's own message names a header and paths of REST, and an
 * agent may have nothing but this surface, above all in a shop whose plan has no REST.
 */
export function openInToolTerms<T>(answer: Answered<T>, { requestId }: Caller, asked: Asked): Answered<T> {
  const { result } = answer;
  if (result.ok || result.error.code !== 'OUTCOME_UNKNOWN') return answer;
  return answered(fail('OUTCOME_UNKNOWN', `${open} ${howToSettle(requestId, asked)}`));
}

const open = 'The call was queued, but whether it is applied cannot be told yet.';

function howToSettle(requestId: string, { idempotencyKey, fieldsOnly = false }: Asked): string {
  if (idempotencyKey !== undefined) {
    return 'Repeat the very same call with the same idempotencyKey: an executed answer to that key settles it.';
  }
  if (fieldsOnly) return 'Ten minutes from now it is settled: look at the material with get_raw_material then.';
  return (
    `What get_inventory_history shows with the requestId ${requestId} is applied; what it does not show ten minutes from ` +
    'now never will be.'
  );
}
