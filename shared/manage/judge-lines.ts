import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/connect.js';
import { facetsOfVendors, takenIds } from '../database/insert-materials-with-stock.js';
import type { FacetedMaterial, StockedMaterial } from '../database/insert-materials-with-stock.js';
import { virtualMaterialId } from '../domain/material-id.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import type { ParsedRecord } from './parse-import-record.js';
import type { ParsedLine } from './read-batches.js';

export interface BadLine {
  /** From 1, as an editor counts; the head of a CSV file included. */
  line: number;
  faults: string[];
}

export interface BadLines {
  badCount: number;
  /** The first `badLinesMax` of them. */
  badLines: BadLine[];
}

/** Returns the good materials of a batch, or a problem if the file cannot be read on. */
export type JudgeLines = (batch: readonly ParsedLine[]) => Promise<Outcome<FacetedMaterial[]>>;

const badLinesMax = 10_000;

/**
 * Tells the good lines of a file from the bad: a line that has passed the rules by itself must also have an id that
 * neither the shop nor an earlier line has.
 *
 * @param database not the import's own transaction (`facetsOfVendors`)
 * @param report the bad lines are added to it
 */
export function createJudge(database: Database, shopId: number, report: BadLines): JudgeLines {
  const facetOfVendor = new Map<string | null, number>();
  const lineOfId = new Map<string, number>();

  function idFaults(id: string | undefined, line: number, taken: ReadonlySet<string>): string[] {
    if (id === undefined) return [];
    if (taken.has(id)) return [`id: The shop has a material ${id} already, or stock of it.`];
    const first = lineOfId.get(id);
    if (first !== undefined) return [`id: ${id} is that of line ${first} already.`];
    lineOfId.set(id, line);
    return [];
  }

  async function findFacets(records: readonly ParsedRecord[]): Promise<void> {
    const vendors = new Set(records.map(({ fields }) => fields.vendor ?? null));
    const fresh = [...vendors].filter((vendor) => !facetOfVendor.has(vendor));
    if (fresh.length === 0) return;
    const ids = await facetsOfVendors(database, shopId, fresh);
    for (const [index, id] of ids.entries()) facetOfVendor.set(fresh[index] ?? null, id);
  }

  function withFacet(record: ParsedRecord): FacetedMaterial {
    const facetId = facetOfVendor.get(record.fields.vendor ?? null);
    if (facetId === undefined) throw new Error('a vendor without a facet');
    return { material: toMaterial(record), facetId };
  }

  return async (batch) => {
    const ids = givenIds(batch);
    const taken = ids.length === 0 ? new Set<string>() : await takenIds(database, shopId, ids);
    const good: ParsedRecord[] = [];
    for (const { line, parsed } of batch) {
      if (!parsed.ok && parsed.isFatal === true) {
        return failed(
          `Line ${line} cannot be read, nor what comes after it; nothing was imported. ${parsed.faults[0]}`,
        );
      }
      const faults = parsed.ok ? idFaults(parsed.record.id, line, taken) : parsed.faults;
      if (parsed.ok && faults.length === 0) {
        good.push(parsed.record);
      } else {
        report.badCount += 1;
        if (report.badLines.length < badLinesMax) report.badLines.push({ line, faults });
      }
    }
    await findFacets(good);
    return { ok: true, value: good.map(withFacet) };
  };
}

function givenIds(batch: readonly ParsedLine[]): string[] {
  return batch.flatMap(({ parsed }) => (parsed.ok && parsed.record.id !== undefined ? [parsed.record.id] : []));
}

function toMaterial({ id, fields, stock }: ParsedRecord): StockedMaterial {
  // Ascending ids, for the same reason as the operation ids in `shared/database/insert-materials-with-stock.ts`.
  return { id: id ?? virtualMaterialId(uuidv7()), fields, ...stock };
}
