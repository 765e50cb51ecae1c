import type { Database } from '../../../shared/database/connect.js';
import { checkLedger } from '../../../shared/database/ledger-check.js';
import { toMicros } from '../../../shared/domain/quantity.js';
import { groupBy } from '../group-by.js';
import type { History, Intent, SentRow } from './history.js';
import { knowledgeOf } from './history.js';
import { faultsOfOrder } from './ledger-order.js';
import { faultsOfReads } from './ledger-reads.js';
import { readLedger } from './ledger-rows.js';
import type { LedgerOperation, LedgerRow, MaterialLedger } from './ledger-rows.js';

export interface Verdict {
  /** In words; a run without faults has none. */
  faults: string[];
  operations: number;
  rows: number;
}

/** More than these say nothing more. */
const faultsMax = 20;

/**
 * Holds a run's history against the ledger, whose sequence is the witness of the order (reliability §2): nothing
 * acknowledged is lost, nothing is applied twice or half, nothing that was certainly not applied is there; replaying
 * the rows gives each reply; what was answered before another was sent comes before it; every read was a state between
 * its start and its end; and the ledger adds up by itself.
 *
 * The rules of stock are written out here once more, so that a fault in `shared/domain` does not excuse itself.
 */
export async function checkHistory(
  database: Database,
  { shopId, allowNegative = false }: { shopId: number; allowNegative?: boolean },
  history: History,
): Promise<Verdict> {
  const faults: string[] = [];
  const { mismatches } = await checkLedger(database, { shopId });
  faults.push(...mismatches.map((mismatch) => `the ledger does not add up: ${JSON.stringify(mismatch)}`));
  const ledgers = await readLedger(database, shopId);
  const intentsByMaterial = groupBy(history.intents, ({ materialId }) => materialId);
  for (const materialId of new Set([...ledgers.keys(), ...intentsByMaterial.keys()])) {
    const ledger = ledgers.get(materialId) ?? { operations: [], levels: new Map() };
    const intents = intentsByMaterial.get(materialId) ?? [];
    const order = faultsOfOrder(ledger, byRequestId(intents), byTag(intents));
    faults.push(...order.faults, ...faultsOfRows(ledger, allowNegative));
    const owners = ownersOf(order.ordered, intents, faults);
    faults.push(...intents.flatMap((intent) => faultsOfIntent(intent, owners.get(intent) ?? [])));
    faults.push(
      ...faultsOfReads(
        ledger,
        byOperation(owners),
        history.reads.filter((read) => read.materialId === materialId),
      ),
    );
  }
  const operations = [...ledgers.values()].flatMap((ledger) => ledger.operations);
  const rows = operations.reduce((sum, operation) => sum + operation.rows.length, 0);
  return { faults: faults.slice(0, faultsMax), operations: operations.length, rows };
}

function byRequestId(intents: Intent[]): Map<string, Intent> {
  const found = new Map<string, Intent>();
  for (const intent of intents) {
    for (const { answer } of intent.attempts) {
      const id = answer?.headers['x-request-id'];
      if (typeof id === 'string') found.set(id, intent);
    }
  }
  return found;
}

function byTag(intents: Intent[]): Map<string, Intent> {
  return new Map(intents.map((intent) => [intent.tag, intent]));
}

/** Finds each operation's intent: by its request's id, its rows' reference, or, for an update, the total it left. */
function ownersOf(ordered: LedgerOperation[], intents: Intent[], faults: string[]): Map<Intent, LedgerOperation[]> {
  const requests = byRequestId(intents);
  const tags = byTag(intents);
  const totals = new Map(
    intents.flatMap((intent) =>
      intent.change.kind === 'update' ? [[toMicros(intent.change.total), intent] as const] : [],
    ),
  );
  const owners = new Map<Intent, LedgerOperation[]>();
  let total = 0;
  for (const operation of ordered) {
    for (const { applied } of operation.rows) total += applied;
    operation.totalAfter = total;
    const intent = requests.get(operation.id) ?? tags.get(operation.reference ?? '') ?? totals.get(total);
    if (intent === undefined) faults.push(`the ledger holds ${operation.id}, which nobody asked for`);
    else owners.set(intent, [...(owners.get(intent) ?? []), operation]);
  }
  return owners;
}

function byOperation(owners: Map<Intent, LedgerOperation[]>): Map<string, Intent> {
  return new Map([...owners].flatMap(([intent, operations]) => operations.map(({ id }) => [id, intent] as const)));
}

/** Checks each row by the rule of stock, from what the row before it left at its level. */
function faultsOfRows({ levels }: MaterialLedger, allowNegative: boolean): string[] {
  const faults: string[] = [];
  for (const [locationId, rows] of levels) {
    let level = 0;
    for (const row of rows) {
      const applied = ruleOfStock(row, level, allowNegative);
      if (row.previous !== level || row.applied !== applied || row.level !== level + applied) {
        faults.push(`row ${String(row.sequence)} at ${locationId} is ${JSON.stringify(row)}, from a level of ${level}`);
      }
      level += applied;
    }
  }
  return faults;
}

function ruleOfStock({ delta, absolute }: LedgerRow, level: number, allowNegative: boolean): number {
  if (absolute !== undefined) return absolute - level;
  const wanted = delta ?? 0;
  if (allowNegative || wanted >= 0) return wanted;
  return level <= 0 ? 0 : -Math.min(level, -wanted);
}

function faultsOfIntent(intent: Intent, operations: LedgerOperation[]): string[] {
  const { tag } = intent;
  const knowledge = knowledgeOf(intent);
  const [operation, second] = operations;
  if (second !== undefined) return [`${tag} was applied twice: ${operations.map(({ id }) => id).join(', ')}`];
  switch (knowledge.status) {
    case 'open':
      return operation === undefined ? [] : faultsOfWholeness(intent, operation);
    case 'not-applied':
      return operation === undefined ? [] : [`${tag} was refused for certain, and yet applied`];
    case 'executed': {
      const { answer } = knowledge;
      const wanted = bookedRows(intent);
      const isBooked = answer.status === 200 && (wanted === undefined || wanted.length > 0);
      if (isBooked && operation === undefined) return [`${tag} was acknowledged and is lost`];
      if (!isBooked && operation !== undefined) return [`${tag} was refused with ${answer.status} and yet applied`];
      return [
        ...faultsOfReply(intent, answer.status, answer.body as BatchReply, operation),
        ...(operation === undefined ? [] : faultsOfWholeness(intent, operation)),
      ];
    }
  }
}

/** The rows of a batch that must stand in the ledger: all but those of an unknown location. Undefined for an update. */
function bookedRows({ change }: Intent): { row: SentRow; index: number }[] | undefined {
  if (change.kind === 'update') return undefined;
  return change.rows.map((row, index) => ({ row, index })).filter(({ row }) => row.locationId !== 'nowhere');
}

/** An operation is applied whole, and as it was sent. */
function faultsOfWholeness(intent: Intent, operation: LedgerOperation): string[] {
  const wanted = bookedRows(intent);
  if (wanted === undefined) {
    const isOne = operation.rows.length === 1 && operation.rows[0]?.absolute !== undefined;
    return isOne ? [] : [`${intent.tag}, an update, left ${JSON.stringify(operation.rows)}`];
  }
  const sent = wanted.map(({ row, index }) => [index, row.locationId, micros(row.delta), micros(row.absolute)]);
  const booked = operation.rows.map((row) => [row.rowIndex, row.locationId, row.delta, row.absolute]);
  if (JSON.stringify(sent) === JSON.stringify(booked)) return [];
  return [`${intent.tag} was sent as ${JSON.stringify(sent)} and booked as ${JSON.stringify(booked)}`];
}

function micros(units: number | undefined): number | undefined {
  return units === undefined ? undefined : toMicros(units);
}

interface BatchReply {
  data?: {
    results?: { index: number; ok: boolean; error?: { code: string } }[];
    inventoryQuantity?: number;
  };
  error?: { code: string };
}

function faultsOfReply(
  intent: Intent,
  status: number,
  body: BatchReply,
  operation: LedgerOperation | undefined,
): string[] {
  const { change, tag } = intent;
  if (change.kind === 'update') {
    if (status === 400) return [];
    const isTrue = body.data?.inventoryQuantity === change.total && operation?.totalAfter === toMicros(change.total);
    return isTrue ? [] : [`${tag} was answered ${JSON.stringify(body)}, but left ${String(operation?.totalAfter)}`];
  }
  const isAllUnknown = bookedRows(intent)?.length === 0;
  if (isAllUnknown) return status === 404 ? [] : [`${tag} was answered ${String(status)} instead of 404`];
  const codes = body.data?.results?.map(({ index, ok, error }) => [index, ok, error?.code]);
  const wanted = change.rows.map(({ locationId }, index) =>
    locationId === 'nowhere' ? [index, false, 'NOT_FOUND'] : [index, true, undefined],
  );
  if (JSON.stringify(codes) === JSON.stringify(wanted)) return [];
  return [`${tag} was answered ${String(status)} ${JSON.stringify(codes)} instead of ${JSON.stringify(wanted)}`];
}
