import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import type { OperationOutcome } from '../../../shared/domain/operation.js';

/**
 * @throws where the apply step left an operation without a decision, or cancelled it: no baseline has a reason to
 */
export function toDispatchOutcome(outcome: OperationOutcome | undefined): DispatchOutcome {
  if (outcome?.status === 'executed' || outcome?.status === 'key-reused' || outcome?.status === 'failed')
    return outcome;
  throw new Error(`an operation came to no decision: ${outcome?.status ?? 'left out'}`);
}
