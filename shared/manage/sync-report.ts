import type { Gone } from '../database/finish-sync.js';
import type { PlatformSync } from '../database/platform-syncs.js';
import type { Shop } from '../database/shops.js';
import type { Remark } from '../mirror/mirrored-rows.js';
import { syncProblemMessages } from '../mirror/sync-problems.js';
import type { SyncOutcome } from '../mirror/sync-shop.js';
import { formatTable } from './format-table.js';

/** Another session was in the way, or statements took too long. */
export interface HeldUp {
  status: 'held-up';
}

/** What `--json` prints of a shop. */
export interface SyncReport {
  shopId: number;
  status: 'complete' | 'failed' | 'interrupted' | 'busy';
  /** Whether it went on with a run that was cut off. */
  resumed: boolean;
  /** Why it is not complete. */
  problem: { code: string; message: string } | null;
  sync: Omit<PlatformSync, 'shopId' | 'generation' | 'cursor' | 'isRunning' | 'problem' | 'problemAt'> | null;
  goneCount: number;
  gone: Gone[];
  removedCount: number;
  /** Why nothing was removed, though it was asked for. */
  removalWithheld: string | null;
  remarkCount: number;
  remarks: Remark[];
}

const nothing = {
  resumed: false,
  goneCount: 0,
  gone: [],
  removedCount: 0,
  removalWithheld: null,
  remarkCount: 0,
  remarks: [],
};

const withheld =
  'Nothing was removed: the platform listed no variant at all, so the token may lack the right to see them.';
const withheldAtEnd =
  'Nothing was removed: the last page was empty, as if the token had lost the right to see variants. Run it again.';

export function reportOf({ id: shopId }: Shop, outcome: SyncOutcome | HeldUp): SyncReport {
  if (outcome.status === 'held-up') {
    const message =
      'Postgres took too long, or found a deadlock, as while another session holds a row of it. Run it again: it goes on where it stands.';
    return { ...nothing, shopId, status: 'failed', problem: { code: 'held-up', message }, sync: null };
  }
  if (outcome.status === 'not-taken') {
    const problem = { code: 'busy', message: 'Another process is bringing in this shop right now.' };
    return { ...nothing, shopId, status: 'busy', problem, sync: null };
  }
  const { status, resumed, remarkCount, remarks } = outcome;
  const { phase, pages, locations, variants, startedAt, syncedAt } = outcome.sync;
  const shown = { phase, pages, locations, variants, startedAt, syncedAt };
  const report = { ...nothing, shopId, status, resumed, problem: null, sync: shown, remarkCount, remarks };
  if (outcome.status === 'complete') {
    const { goneCount, gone, removedCount } = outcome;
    const why = variants.seen === 0 ? withheld : withheldAtEnd;
    return { ...report, goneCount, gone, removedCount, removalWithheld: outcome.removalWithheld ? why : null };
  }
  if (outcome.status === 'interrupted') return report;
  const { problem: code } = outcome;
  return { ...report, problem: { code, message: syncProblemMessages[code] } };
}

export function describeReports(reports: readonly SyncReport[]): string {
  if (reports.length === 0) return 'No shop is connected to a commerce platform.';
  return reports.map(describeOne).join('\n\n');
}

function describeOne(report: SyncReport): string {
  const { shopId, status, problem, sync, resumed, goneCount, gone, removedCount, removalWithheld } = report;
  const { remarkCount, remarks } = report;
  const state = problem === null ? status : `${status}: ${problem.message}`;
  const lines = [`Shop ${shopId}: ${state}${resumed ? ' (went on with a run that was cut off)' : ''}`];
  if (sync !== null) {
    const head = ['', 'listed', 'added', 'changed'];
    const row = (name: string, { seen, added, changed }: PlatformSync['variants']) => [name, seen, added, changed];
    lines.push(formatTable(head, [row('locations', sync.locations), row('variants', sync.variants)]));
  }
  if (removalWithheld !== null) lines.push(removalWithheld);
  if (removedCount > 0) lines.push(`Gone from the platform, and removed: ${removedCount}`);
  if (goneCount > 0) {
    const rows = gone.map(({ kind, id, name, since, isUsed }) => [kind, id, name, since, isUsed]);
    lines.push(
      `Gone from the platform, and kept: ${goneCount}${shownOf(gone.length, goneCount)}`,
      formatTable(['what', 'id', 'name', 'since', 'used'], rows),
    );
  }
  if (remarkCount > 0) {
    const rows = remarks.map(({ kind, id, field, what }) => [kind, id, field, what]);
    lines.push(
      `Values that could not be taken as they are: ${remarkCount}${shownOf(remarks.length, remarkCount)}`,
      formatTable(['what', 'id', 'field', 'remark'], rows),
    );
  }
  return lines.join('\n');
}

function shownOf(shown: number, all: number): string {
  return shown < all ? ` (the first ${shown})` : '';
}
