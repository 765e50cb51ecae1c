import type { Database } from '../shared/database/connect.js';
import { reasonOf } from '../shared/database/errors.js';
import { mismatchMeanings } from '../shared/database/ledger-mismatch.js';
import type { LedgerMismatch } from '../shared/database/ledger-mismatch.js';
import { checkRecentLedger } from '../shared/database/recent-ledger-check.js';
import type { MaterialRef } from '../shared/domain/operation.js';
import { materialOfQueue, queueName } from '../shared/queue/names.js';
import type { Logger } from '../shared/runtime/logger.js';
import { periodically } from '../shared/runtime/periodically.js';
import type { Rounds } from '../shared/runtime/periodically.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';
import { createRowAllowance } from './row-allowance.js';
import type { WorkerMetrics } from './worker-metrics.js';

export interface LedgerWatch extends Rounds {
  /**
   * Tells which materials were written to. If too many wait already, they are left to a later change, or to `verify`.
   */
  changed(materials: readonly MaterialRef[]): void;
}

export interface LedgerWatchDeps {
  database: Database;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'ledgerChecked' | 'mismatched'>;
  /** Materials, levels and ledger entries that may be read in a minute; 0: nothing is watched. */
  rowsPerMinute: number;
  /** How often a difference is told while it stands. */
  toldEveryMs?: number;
}

const roundEveryMs = 1_000;
const roundsPerMinute = 60_000 / roundEveryMs;
/** Small enough for one statement: at most 5,000 entries, some 10 ms of Postgres. */
const materialsPerRoundMax = 20;
const levelsPerRoundMax = 50;
const entriesPerLevelMax = 100;
/** 10,000 names of 60 bytes. Of a worker that changes more than it may check, only some materials are checked. */
const rememberedMax = 10_000;
const knownMax = 1_000;
/** Less than the time over which `RawMaterialsLedgerMismatch` (alerts.yml) looks, so that it fires for as long. */
const toldEveryMsDefault = 10 * 60_000;

/**
 * A second look at what this worker wrote: recomputes the ledgers of materials that it changed, oldest change first, at
 * most `rowsPerMinute` rows a minute, and says where level, total and ledger differ. What was found to differ is looked
 * at again until it does not. What to look at is kept in memory, so it needs no index and is lost with the process:
 * `npm run manage -- verify` looks at everything.
 */
export function startLedgerWatch({
  database,
  logger,
  metrics,
  rowsPerMinute,
  toldEveryMs = toldEveryMsDefault,
}: LedgerWatchDeps): LedgerWatch {
  if (rowsPerMinute === 0) return { changed: () => undefined, stop: () => Promise.resolve() };
  /** Kept by queue name, because the materials that are given hold their operations as well. */
  const waiting = new Set<string>();
  /** The differences that were told, the longest ago first: a busy material is checked again and again. */
  const known = new Map<string, { toldMs: number; queue: string }>();
  const allowance = createRowAllowance(rowsPerMinute / roundsPerMinute);

  /** What was told long ago is forgotten and its material looked at: told again, or mended by now. */
  function forgetOld(): void {
    for (const [name, { toldMs, queue }] of known) {
      if (performance.now() - toldMs < toldEveryMs) return;
      known.delete(name);
      waiting.add(queue);
    }
  }

  async function look(): Promise<void> {
    forgetOld();
    // Each round adds to the allowance, also where there is nothing to look at.
    if (!allowance.beginRound() || waiting.size === 0) return;
    const names = [...waiting].slice(0, materialsPerRoundMax);
    for (const name of names) waiting.delete(name);
    const { mismatches, rowsRead, ...found } = await checkRecentLedger(database, names.map(materialOfQueue), {
      levelsMax: levelsPerRoundMax,
      entriesPerLevelMax,
    });
    // Not the rows that it recomputed: of a material with 10,000 levels it checks 50, but reads all of them, twice.
    allowance.spend(rowsRead);
    metrics.ledgerChecked(found);
    for (const mismatch of mismatches) tell(mismatch);
  }

  function tell(mismatch: LedgerMismatch): void {
    const { kind, shopId, materialId, levelId } = mismatch;
    const queue = queueName({ shopId, materialId: materialId ?? '' });
    const name = `${kind} ${queue} ${levelId ?? ''}`;
    if (known.has(name)) return;
    if (known.size >= knownMax) known.clear();
    known.set(name, { toldMs: performance.now(), queue });
    metrics.mismatched(kind);
    logger.error({ mismatch }, `The ledger does not add up: ${mismatchMeanings[kind]}.`);
  }

  const fault = logRecurring(logger, 'The ledgers of recent changes could not be checked.', reasonOf);
  const rounds = periodically(roundEveryMs, look, fault);

  return {
    changed(materials) {
      for (const material of materials) {
        if (waiting.size >= rememberedMax) return;
        waiting.add(queueName(material));
      }
    },
    stop: () => rounds.stop(),
  };
}
