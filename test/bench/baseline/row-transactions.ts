import type { DispatchRequest } from '../../../api/dispatch/dispatch.js';
import type { Database } from '../../../shared/database/connect.js';
import { adjustLevel, unknownLocation } from '../../../shared/domain/adjustment.js';
import type { AdjustmentRow, RowApplied, RowOutcome } from '../../../shared/domain/adjustment.js';
import type { RowFailure } from '../../../shared/domain/batch-result.js';
import type { MaterialRef } from '../../../shared/domain/operation.js';
import { fromDecimal, toDecimal } from '../../../shared/domain/quantity.js';
import { rowsOf } from './strategy.js';
import type { Strategy } from './strategy.js';

export interface RowTransactionsOptions {
  /** Writes the ledger's row and the material's total as well, as the service does: this makes the comparison fair. */
  withLedger: boolean;
  transactionPer: 'row' | 'request';
}

/**
 * d, d′ and d1′ (pipeline §6): what a user would write instead of a queue, with Knex, `SELECT … FOR UPDATE` of the
 * level, the rule in TypeScript, the update. Not exactly-once: nothing remembers the request.
 */
export function rowTransactions({ withLedger, transactionPer }: RowTransactionsOptions): Strategy {
  const createSubmit: Strategy['createSubmit'] = (database) => async (ref, request) => {
    const rows = rowsOf(request);
    const outcomes: RowOutcome[] = [];
    const runAll = async (transaction: Database) => {
      for (const [index, row] of rows.entries()) {
        outcomes.push(await adjustRow({ transaction, withLedger }, ref, request, row, index));
      }
    };
    if (transactionPer === 'request') {
      await database.transaction(runAll);
    } else {
      for (const [index, row] of rows.entries()) {
        outcomes.push(
          await database.transaction((transaction) => adjustRow({ transaction, withLedger }, ref, request, row, index)),
        );
      }
    }
    const failures = outcomes.flatMap((outcome, index): RowFailure[] =>
      outcome.ok ? [] : [{ index, code: outcome.code, message: outcome.message }],
    );
    return { status: 'executed', result: { kind: 'adjusted', rowCount: rows.length, failures }, replayed: false };
  };
  return { pipeline: false, createSubmit };
}

interface RowDeps {
  transaction: Database;
  withLedger: boolean;
}

interface LevelRow {
  id: string;
  quantity: string;
  sequence: string;
}

async function adjustRow(
  { transaction, withLedger }: RowDeps,
  { shopId, materialId }: MaterialRef,
  request: DispatchRequest,
  row: AdjustmentRow,
  rowIndex: number,
): Promise<RowOutcome> {
  const key = { shop_id: shopId, material_id: materialId, location_id: row.locationId };
  const level = await transaction('levels')
    .where(key)
    .forUpdate()
    .first<LevelRow | undefined>('id', 'quantity', 'sequence');
  // Every level that the benchmark names is open already; a first booking would be the same work for every design.
  if (level === undefined) return unknownLocation(row.locationId);
  const before = fromDecimal(level.quantity);
  const applied = adjustLevel(row, { level: before, total: before, allowNegative: false });
  if (!applied.ok) return applied;
  const sequence = Number(level.sequence) + 1;
  const changes = { quantity: toDecimal(applied.level), updated_at: transaction.fn.now() };
  await transaction('levels')
    .where(key)
    .update(withLedger ? { ...changes, sequence } : changes);
  if (withLedger) {
    await transaction('stock')
      .where({ shop_id: shopId, material_id: materialId })
      .update({
        total_quantity: transaction.raw('total_quantity + ?::numeric', [toDecimal(applied.applied)]),
        updated_at: transaction.fn.now(),
      });
    await transaction('ledger').insert(
      ledgerRow({ shopId, levelId: level.id, sequence }, request, row, rowIndex, applied),
    );
  }
  return applied;
}

function ledgerRow(
  { shopId, levelId, sequence }: { shopId: number; levelId: string; sequence: number },
  { requestId, channel, keyId }: DispatchRequest,
  row: AdjustmentRow,
  rowIndex: number,
  applied: RowApplied,
): Record<string, unknown> {
  return {
    shop_id: shopId,
    level_id: levelId,
    sequence,
    op_id: requestId,
    row_index: rowIndex,
    requested_delta: row.delta === undefined ? null : toDecimal(row.delta),
    requested_absolute: row.absolute === undefined ? null : toDecimal(row.absolute),
    previous: toDecimal(applied.previous),
    applied: toDecimal(applied.applied),
    level_after: toDecimal(applied.level),
    clamped: applied.clamped,
    at: new Date(),
    channel,
    key_id: keyId,
    request_id: requestId,
    reason: row.reason ?? null,
    reference: row.reference ?? null,
  };
}
