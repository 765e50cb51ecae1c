import type { QueryResult } from 'pg';
import type { VersionedMaterial } from '../domain/material.js';
import { materialKey } from '../domain/operation.js';
import type { OperationOutcome, OperationResult } from '../domain/operation.js';
import { fromDecimal } from '../domain/quantity.js';
import type { Micros } from '../domain/quantity.js';
import { materialAt } from './apply-read.js';
import type { ApplyQuestion, StateRow } from './apply-read.js';
import { toVersionedMaterial } from './material-rows.js';
import type { VersionedMaterialRow } from './material-rows.js';
import { toOutcome, toResult } from './outcome-rows.js';

export interface LevelSnapshot {
  /** The key of the level's row; a new one if the first booking will insert the row. */
  id: string;
  exists: boolean;
  quantity: Micros;
  sequence: number;
}

export interface MaterialSnapshot {
  /**
   * Whether we hold its lock, and may insert the levels that it lacks. If another session holds one of these rows, the
   * material is left out: nothing is done for it now, and it has to be tried again.
   */
  isOurs: boolean;
  /**
   * Time of its ledger entries and of `updatedAt`: the database's clock, but always later than every earlier booking,
   * even if that clock was set back or a transaction took less than a millisecond. So entries of a material with the
   * same time are those of one transaction, and times ascend with each level's sequence, by which history finds a time.
   */
  atMs: number;
  total: Micros;
  allowNegative: boolean;
  defaultLocationId: string | null;
  /** By location; a location that the shop does not have is absent. */
  levels: Map<string, LevelSnapshot>;
  /** Set if the question names the material in `updated`. */
  fields: VersionedMaterial | undefined;
}

export interface ApplySnapshot {
  /** The database's clock, whole milliseconds, taken under the locks. */
  atMs: number;
  /** Parallel to the question's materials; undefined where the material does not exist. */
  materials: (MaterialSnapshot | undefined)[];
  recorded: Map<string, OperationOutcome>;
  executedByScope: Map<string, ExecutedRecord>;
}

export interface ExecutedRecord {
  operationId: string;
  requestHash: string;
  ageMs: number;
  /** Absent if it was read, and nobody asked with its request's hash. */
  result: OperationResult | undefined;
}

/** @param answers to the `openingQueries` of this question */
export function readSnapshot(question: ApplyQuestion, [, locked, ...answers]: QueryResult[]): ApplySnapshot {
  const lockedOrdinals = ordinalsOf(locked);
  if (question.updated.length > 0) {
    const lockedFields = ordinalsOf(answers.shift());
    question.updated.forEach((index, place) => {
      if (!lockedFields.has(place + 1)) lockedOrdinals.delete(index + 1);
    });
  }
  const [state, fields] = answers;
  const snapshot: ApplySnapshot = {
    atMs: 0,
    materials: question.materials.map(() => undefined),
    recorded: new Map(),
    executedByScope: new Map(),
  };
  // The parts come in the order of the statement, because `nextval` keeps Postgres from running them in parallel. So a
  // material is known before its levels come.
  for (const row of state?.rows as StateRow[]) readRow(snapshot, row, lockedOrdinals);
  if (fields !== undefined) readFields(question, snapshot, fields);
  return snapshot;
}

function ordinalsOf(answer: QueryResult | undefined): Set<number> {
  return new Set((answer?.rows as { ordinal: string }[]).map(({ ordinal }) => Number(ordinal)));
}

function readFields(question: ApplyQuestion, snapshot: ApplySnapshot, { rows }: QueryResult): void {
  const byMaterial = new Map(
    (rows as (VersionedMaterialRow & { shop_id: number })[]).map((row) => [
      materialKey({ shopId: row.shop_id, materialId: row.id }),
      toVersionedMaterial(row),
    ]),
  );
  for (const index of question.updated) {
    const material = snapshot.materials[index];
    if (material !== undefined) material.fields = byMaterial.get(materialKey(materialAt(question, index)));
  }
}

function readRow(snapshot: ApplySnapshot, row: StateRow, locked: Set<number>): void {
  const { number, a } = row;
  switch (row.kind) {
    case 'clock':
      snapshot.atMs = Number(a);
      return;
    case 'material': {
      snapshot.materials[number - 1] = {
        isOurs: locked.has(number),
        atMs: Math.max(snapshot.atMs, Number(row.d) + 1),
        total: fromDecimal(a),
        allowNegative: row.b === 'true',
        defaultLocationId: row.c,
        levels: new Map(),
        fields: undefined,
      };
      return;
    }
    case 'level': {
      const material = snapshot.materials[number - 1];
      if (material === undefined) return;
      if (row.d === null) material.isOurs = false;
      const state =
        row.c === null
          ? { exists: false, quantity: 0, sequence: 0 }
          : { exists: true, quantity: fromDecimal(row.c), sequence: Number(row.d) };
      // Asked for by its id and as the default location, it comes twice. If each drew an id of its own, either will do.
      material.levels.set(a, { id: row.b, ...state });
      return;
    }
    case 'operation':
      snapshot.recorded.set(a, toOutcome(row.b, row.c ?? row.d));
      return;
    case 'scope':
      if (row.d === null && snapshot.executedByScope.has(a)) return;
      snapshot.executedByScope.set(a, {
        operationId: row.b,
        requestHash: row.c,
        ageMs: number,
        result: row.d === null ? undefined : toResult(row.d),
      });
      return;
  }
}
