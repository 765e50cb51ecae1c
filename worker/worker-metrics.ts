import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { mismatchMeanings } from '../shared/database/ledger-mismatch.js';
import type { MismatchKind } from '../shared/database/ledger-mismatch.js';
import type { RowFailureCode } from '../shared/domain/adjustment.js';
import type { Operation } from '../shared/domain/operation.js';
import type { ApplyReport } from '../shared/inventory/apply-operations.js';

/** What a worker counts, for the admin port (reliability §3); no label names a shop or a material. */
export interface WorkerMetrics {
  registry: Registry;
  committed(transaction: CommittedTransaction): void;
  /** Operations were recorded as failed through our own fault. */
  failed(operations: number): void;
  /** A transaction met a passing fault and runs again. */
  retried(): void;
  /** A cycle was given up, and its materials given back, because of a fault of Redis or Postgres. */
  faulted(): void;
  leasesLost(count: number): void;
  ledgerChecked(found: { materials: number; levels: number; entries: number }): void;
  mismatched(kind: MismatchKind): void;
  /** As many mirrors of platforms are overdue now, over all shops. */
  mirrorsOverdue(count: number): void;
}

/** A transaction that committed: what it put on record, without the materials that it left out. */
export interface CommittedTransaction extends Pick<ApplyReport, 'records' | 'clampedRows'> {
  /** Jobs with an operation in it. Those of a material that was divided among several transactions count in each. */
  jobs: number;
  materials: number;
  seconds: number;
}

const sizeBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];
const materialBuckets = [1, 2, 4, 8, 16, 32];
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The counters, in a registry of the worker's own. They cost a cycle some microseconds, however many rows it has. */
export function createWorkerMetrics(): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const plainCounter = (name: string, help: string) => new Counter({ name, help, registers });
  const sizes = (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers });

  const jobsOf = sizes('raw_materials_transaction_jobs', 'Jobs of the materials in one transaction.', sizeBuckets);
  const materialsOf = sizes('raw_materials_transaction_materials', 'Materials of one transaction.', materialBuckets);
  const operationsOf = sizes(
    'raw_materials_transaction_operations',
    'Operations that one transaction put on record.',
    sizeBuckets,
  );
  const secondsOf = sizes('raw_materials_transaction_duration_seconds', 'Time a transaction took.', secondsBuckets);
  const clamped = plainCounter('raw_materials_clamped_rows_total', 'Rows that were ok and stopped at zero.');
  const retries = plainCounter('raw_materials_transaction_retries_total', 'Transactions that ran again at once.');
  const faults = plainCounter('raw_materials_cycle_faults_total', 'Cycles given up for a fault of Redis or Postgres.');
  const lost = plainCounter('raw_materials_leases_lost_total', 'Leases that ran out while their worker held them.');
  const overdue = new Gauge({
    name: 'raw_materials_mirrors_overdue',
    help: 'Shops whose commerce platform was not brought in for two intervals, or for an hour where that is longer.',
    registers,
  });
  const { rows, operations } = outcomeCounters(registry);
  const ledger = ledgerCounters(registry);

  return {
    registry,
    committed({ records, clampedRows, jobs, materials, seconds }) {
      jobsOf.observe(jobs);
      materialsOf.observe(materials);
      secondsOf.observe(seconds);
      operationsOf.observe(records.length);
      clamped.inc(clampedRows);
      const tally = tallyOf(records);
      for (const [result, count] of tally.rows) rows.inc({ result }, count);
      for (const [outcome, count] of tally.operations) operations.inc({ outcome }, count);
    },
    failed(count) {
      operations.inc({ outcome: 'failed' }, count);
    },
    retried() {
      retries.inc();
    },
    faulted() {
      faults.inc();
    },
    leasesLost(count) {
      lost.inc(count);
    },
    mirrorsOverdue(count) {
      overdue.set(count);
    },
    ...ledger,
  };
}

type RowResult = 'ok' | RowFailureCode;

/** As in `operations.status`, but executed operations that were rejected, replayed or a dry run are counted apart. */
type CountedOutcome = 'executed' | 'rejected' | 'dry-run' | 'replayed' | 'key-reused' | 'expired' | 'failed';

const rowResults: RowResult[] = ['ok', 'NOT_FOUND', 'INVALID_INPUT', 'CONFLICT'];
const outcomes: CountedOutcome[] = ['executed', 'rejected', 'dry-run', 'replayed', 'key-reused', 'expired', 'failed'];

function outcomeCounters(registry: Registry): { rows: Counter<'result'>; operations: Counter<'outcome'> } {
  const registers = [registry];
  const rows = new Counter({
    name: 'raw_materials_rows_total',
    help: 'Rows of inventory batches that were executed, by result; dry runs are not among them.',
    labelNames: ['result'],
    registers,
  });
  const operations = new Counter({
    name: 'raw_materials_operations_total',
    help: 'Operations put on record, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  // From the start at 0: a series that appears with its first event hides that event from `increase`.
  for (const result of rowResults) rows.inc({ result }, 0);
  for (const outcome of outcomes) operations.inc({ outcome }, 0);
  return { rows, operations };
}

function ledgerCounters(registry: Registry): Pick<WorkerMetrics, 'ledgerChecked' | 'mismatched'> {
  const registers = [registry];
  const checked = new Counter({
    name: 'raw_materials_ledger_checked_total',
    help: 'What the background check recomputed: materials, levels and ledger entries.',
    labelNames: ['what'],
    registers,
  });
  const mismatches = new Counter({
    name: 'raw_materials_ledger_mismatches_total',
    help: 'What levels, totals and the ledger were found to disagree about, by kind, every ten minutes while it stands; see npm run manage -- verify.',
    labelNames: ['kind'],
    registers,
  });
  for (const what of ['materials', 'levels', 'entries']) checked.inc({ what }, 0);
  for (const kind of Object.keys(mismatchMeanings)) mismatches.inc({ kind }, 0);
  return {
    ledgerChecked(found) {
      for (const [what, count] of Object.entries(found)) checked.inc({ what }, count);
    },
    mismatched(kind) {
      mismatches.inc({ kind });
    },
  };
}

interface Tally {
  rows: Map<RowResult, number>;
  operations: Map<CountedOutcome, number>;
}

function tallyOf(records: ApplyReport['records']): Tally {
  const tally: Tally = { rows: new Map(), operations: new Map() };
  for (const { operation, outcome } of records) {
    const counted = countedOutcome(operation, outcome);
    // It was not this worker but an API process that put a cancelled operation on record.
    if (counted === 'cancelled') continue;
    add(tally.operations, counted, 1);
    if (counted !== 'executed' || outcome.status !== 'executed' || outcome.result.kind !== 'adjusted') continue;
    const { rowCount, failures } = outcome.result;
    add(tally.rows, 'ok', rowCount - failures.length);
    for (const { code } of failures) add(tally.rows, code, 1);
  }
  return tally;
}

function countedOutcome(
  { command }: Operation,
  outcome: ApplyReport['records'][number]['outcome'],
): CountedOutcome | 'cancelled' {
  if (outcome.status !== 'executed') return outcome.status;
  if (outcome.replayed) return 'replayed';
  if (outcome.result.kind === 'rejected') return 'rejected';
  return command.kind === 'adjust' && command.dryRun === true ? 'dry-run' : 'executed';
}

function add<Name>(counts: Map<Name, number>, name: Name, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}
