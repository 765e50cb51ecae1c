import type { Attempt, Intent } from './history.js';
import { isExecuted } from './history.js';
import type { LedgerOperation, MaterialLedger } from './ledger-rows.js';

/**
 * Puts the operations of a material in one order that agrees with the sequence of each of its levels and with real
 * time: what was answered before another was sent comes before it. Where there is none, the operations were torn apart
 * or changed places.
 *
 * An operation may come next when it is next at each of its levels, and no operation that is still to come was answered
 * before it was sent. Taking one that may come next never stands in the way of the others, so always taking the one
 * that was sent first finds an order if there is one.
 */
export function faultsOfOrder(
  { operations, levels }: MaterialLedger,
  byRequest: Map<string, Intent>,
  byTag: Map<string, Intent>,
): { ordered: LedgerOperation[]; faults: string[] } {
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  const times = new Map(operations.map((operation) => [operation.id, timesOf(operation, byRequest, byTag)] as const));
  const at = (id: string) => times.get(id) ?? { sentMs: Infinity, answeredMs: Infinity };
  // At each level its operations in order, each once: the rows of one follow each other, or it was torn apart.
  const chains = [...levels.values()].map((rows) => {
    const ids: string[] = [];
    for (const { operationId } of rows) if (ids.at(-1) !== operationId) ids.push(operationId);
    return { ids, next: 0 };
  });
  const open = new Map<string, number>();
  for (const { ids } of chains) for (const id of ids) open.set(id, (open.get(id) ?? 0) + 1);
  const byAnswer = operations.map(({ id }) => id).sort((one, other) => at(one).answeredMs - at(other).answeredMs);
  const placed = new Set<string>();
  const ordered: LedgerOperation[] = [];
  let earliest = 0;
  while (ordered.length < operations.length) {
    while (placed.has(byAnswer[earliest] ?? '')) earliest += 1;
    const heads = chains.flatMap(({ ids, next }) => ids[next] ?? []);
    const ready = [...new Set(heads)].filter((id) => heads.filter((head) => head === id).length === open.get(id));
    const [first] = ready.sort((one, other) => at(one).sentMs - at(other).sentMs);
    const blocker = byAnswer[earliest] ?? '';
    const operation = byId.get(first ?? '');
    if (first === undefined || operation === undefined) {
      return { ordered: withRest(), faults: [`no order agrees with all levels: torn apart are ${heads.join(', ')}`] };
    }
    if (blocker !== first && at(blocker).answeredMs < at(first).sentMs) {
      const fault = `${describe(blocker)} was answered before ${describe(first)} was sent, and comes after it`;
      return { ordered: withRest(), faults: [fault] };
    }
    placed.add(first);
    ordered.push(operation);
    for (const chain of chains) if (chain.ids[chain.next] === first) chain.next += 1;
  }
  return { ordered, faults: [] };

  /** Whose the others are can be told without an order. */
  function withRest(): LedgerOperation[] {
    return [...ordered, ...operations.filter(({ id }) => !placed.has(id))];
  }

  function describe(id: string): string {
    const { sentMs, answeredMs } = at(id);
    return `${byId.get(id)?.reference ?? ''} ${id} (${sentMs.toFixed(1)} to ${answeredMs.toFixed(1)} ms)`;
  }
}

/** When it was sent, and when its client heard that it had been executed; Infinity where nobody did. */
function timesOf(
  { id, reference }: LedgerOperation,
  byRequest: Map<string, Intent>,
  byTag: Map<string, Intent>,
): { sentMs: number; answeredMs: number } {
  const intent = byRequest.get(id) ?? byTag.get(reference ?? '');
  // An update on which every connection broke cannot be recognised here; it may then stand anywhere.
  if (intent === undefined) return { sentMs: -Infinity, answeredMs: Infinity };
  const own = intent.attempts.find(({ answer }) => answer?.headers['x-request-id'] === id);
  const isHeard = ({ answer }: Attempt) => answer !== undefined && isExecuted(answer);
  const heard = own !== undefined && isHeard(own) ? own : intent.attempts.find(isHeard);
  return {
    sentMs: (own ?? intent.attempts[0])?.sentMs ?? -Infinity,
    answeredMs: heard?.answeredMs ?? Infinity,
  };
}
