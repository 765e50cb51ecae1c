import { setTimeout as delay } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/connect.js';
import type { Micros } from '../domain/quantity.js';
import { applyOperations } from '../inventory/apply-operations.js';
import type { OperationGroup } from '../inventory/decide.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';

export interface OpeningStock {
  materialId: string;
  levels: readonly { locationId: string; quantity: Micros }[];
}

/** The limits of a worker's cycle and of a request (pipeline §2 "Limits"). */
const materialsPerCycle = 32;
const rowsPerOperation = 1_000;
/** A material that another session holds comes again after a moment; 5 s of that is no longer a coincidence. */
const attemptsMax = 50;
const retryMs = 100;

/**
 * Books the first stock of virtual materials that exist already, through the apply step, so that the ledger has it like
 * any other change. Rows are absolute, and an operation that is on record is not applied again.
 *
 * @param database opened with `pipeline: true`
 * @returns a problem if a row was refused, or another session kept a material; earlier cycles are booked by then
 */
export async function bookOpeningStock(
  database: Database,
  shopId: number,
  stocks: readonly OpeningStock[],
): Promise<Outcome<void>> {
  const groups = stocks.map((stock) => toGroup(shopId, stock)).filter(({ operations }) => operations.length > 0);
  for (let start = 0; start < groups.length; start += materialsPerCycle) {
    const booked = await applyAll(database, groups.slice(start, start + materialsPerCycle));
    if (!booked.ok) return booked;
  }
  return { ok: true, value: undefined };
}

async function applyAll(database: Database, groups: OperationGroup[]): Promise<Outcome<void>> {
  let waiting = groups;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (attempt > 0) await delay(retryMs);
    const { outcomes, leftOut } = await applyOperations(database, waiting, { nowMs: Date.now() });
    const left = new Set(leftOut.map(({ materialId }) => materialId));
    for (const { materialId, operations } of waiting.filter((group) => !left.has(group.materialId))) {
      for (const { id } of operations) {
        const problem = problemOf(outcomes.get(id));
        if (problem !== undefined) return failed(`The opening stock of ${materialId} could not be booked: ${problem}`);
      }
    }
    waiting = waiting.filter((group) => left.has(group.materialId));
    if (waiting.length === 0) return { ok: true, value: undefined };
  }
  const names = waiting.map(({ materialId }) => materialId).join(', ');
  return failed(`The opening stock of ${names} could not be booked: another session holds them. Try again.`);
}

type ApplyReport = Awaited<ReturnType<typeof applyOperations>>;

function problemOf(outcome: ReturnType<ApplyReport['outcomes']['get']>): string | undefined {
  if (outcome?.status !== 'executed') return `it ended as ${outcome?.status ?? 'not done'}.`;
  const { result } = outcome;
  if (result.kind === 'rejected') return result.message;
  return result.kind === 'adjusted' ? result.failures[0]?.message : undefined;
}

function toGroup(shopId: number, { materialId, levels }: OpeningStock): OperationGroup {
  const acceptedAtMs = Date.now();
  const operations: OperationGroup['operations'] = [];
  for (let start = 0; start < levels.length; start += rowsPerOperation) {
    const rows = levels
      .slice(start, start + rowsPerOperation)
      .map(({ locationId, quantity }) => ({ locationId, absolute: quantity, reason: 'Opening stock' }));
    const command = { kind: 'adjust' as const, rows };
    operations.push({ id: uuidv7(), command, acceptedAtMs, channel: 'cli', keyId: null, requestId: null });
  }
  return { shopId, materialId, operations };
}
