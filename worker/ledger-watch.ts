import type { Database } from '../shared/database/connect.js';
import { mismatchMeanings } from '../shared/database/ledger-mismatch.js';
import { checkRecentLedger, recheckLedger } from '../shared/database/recent-ledger-check.js';
import type { RecentLedgerCheck, RecentMismatch } from '../shared/database/recent-ledger-check.js';
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
  /**
   * Rows that may be read in a minute: for a material one, its levels twice (to find those that changed last, and for
   * the sum), and their last entries; 0: nothing is watched.
   */
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
const recheckedPerRoundMax = 20;
/** 10,000 names of 60 bytes. Of a worker that changes more than it may check, only some materials are checked. */
const rememberedMax = 10_000;
/** With more, those that were told the longest ago are forgotten. */
const knownMax = 1_000;
/** Less than the time over which `RawMaterialsLedgerMismatch` (alerts.yml) looks, so that it fires for as long. */
const toldEveryMsDefault = 10 * 60_000;

/**
 * A second look at what this worker wrote: recomputes the ledgers of materials that it changed, oldest change first, at
 * most `rowsPerMinute` rows a minute, and says where level, total and ledger differ. Where they do is looked at again,
 * before anything else, until they do not. What to look at is kept in memory, so it needs no index and is lost with the
 * process: `npm run manage -- verify` looks at everything.
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
  /** The differences that stand, those that were told the longest ago first. */
  const known = new Map<string, { mismatch: RecentMismatch; toldMs: number }>();
  const allowance = createRowAllowance(rowsPerMinute / roundsPerMinute);

  const isDue = (toldMs: number) => performance.now() - toldMs >= toldEveryMs;

  async function look(): Promise<void> {
    // Each round adds to the allowance, also where there is nothing to look at.
    if (!allowance.beginRound()) return;
    await lookAgain();
    await lookAtChanged();
  }

  /** What stands is told again; what was mended is known no more. A failed look leaves both for the next. */
  async function lookAgain(): Promise<void> {
    const due = [...known].filter(([, { toldMs }]) => isDue(toldMs)).slice(0, recheckedPerRoundMax);
    if (due.length === 0) return;
    const differences = due.map(([, { mismatch }]) => mismatch);
    const found = await recheckLedger(database, differences, { entriesPerLevelMax });
    const standing = new Set(found.mismatches.map(nameOf));
    for (const [name] of due) if (!standing.has(name)) known.delete(name);
    note(found);
  }

  async function lookAtChanged(): Promise<void> {
    if (waiting.size === 0) return;
    const names = [...waiting].slice(0, materialsPerRoundMax);
    // Before the answer: what changes meanwhile must be looked at again, what cannot be read must not come for ever.
    for (const name of names) waiting.delete(name);
    const bounds = { levelsMax: levelsPerRoundMax, entriesPerLevelMax };
    note(await checkRecentLedger(database, names.map(materialOfQueue), bounds));
  }

  function note({ mismatches, rowsRead, ...found }: RecentLedgerCheck): void {
    // Not the rows that it recomputed: of a material with 10,000 levels it checks 50, but reads all of them, twice.
    allowance.spend(rowsRead);
    metrics.ledgerChecked(found);
    for (const mismatch of mismatches) tell(mismatch);
  }

  function tell(mismatch: RecentMismatch): void {
    const name = nameOf(mismatch);
    const before = known.get(name);
    // A busy material is checked again and again.
    if (before !== undefined && !isDue(before.toldMs)) return;
    known.delete(name);
    const [longestAgo] = known.keys();
    if (known.size >= knownMax && longestAgo !== undefined) known.delete(longestAgo);
    known.set(name, { mismatch, toldMs: performance.now() });
    metrics.mismatched(mismatch.kind);
    logger.error({ mismatch }, `The ledger does not add up: ${mismatchMeanings[mismatch.kind]}.`);
  }

  const fault = logRecurring(logger, 'The ledgers of recent changes could not be checked.');
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

function nameOf({ kind, shopId, materialId, levelId }: RecentMismatch): string {
  return `${kind} ${queueName({ shopId, materialId: materialId ?? '' })} ${levelId ?? ''}`;
}
