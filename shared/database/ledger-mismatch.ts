/**
 * One disagreement that a check has found, where it is (null for what it is not of), and what should be there. Figures
 * are decimals as Postgres writes them.
 */
export interface Mismatch<Kind extends string> {
  kind: Kind;
  shopId: number;
  materialId: string | null;
  locationId: string | null;
  levelId: string | null;
  expected: string;
  found: string;
}

/** Between the ledger and what was derived from it. Without a material only where an entry's level is not there. */
export type LedgerMismatch = Mismatch<MismatchKind>;

/** Each rule (pipeline §3 "The ledger is the truth"), with what `expected` and `found` are. */
export const mismatchMeanings = {
  'level-not-sum': 'the level is not the sum of what its entries applied',
  'sequence-gap': 'the entries are not numbered 1, 2, 3 …: their number, and the last number',
  'last-sequence': 'the level does not carry the number of its last entry',
  'broken-chain': 'an entry does not start from what the one before it left: how many such entries',
  'total-not-sum': "the material's total is not the sum of its levels",
  'level-missing': 'there are entries of a level that does not exist',
  'material-missing': 'there is stock of a material that does not exist',
} as const;

export type MismatchKind = keyof typeof mismatchMeanings;

/** A level and the entries of its ledger that were looked at, as Postgres compared them. */
export interface ComparedLevel {
  shop_id: number;
  material_id: string;
  location_id: string;
  id: string;
  quantity: string;
  sequence: string;
  /** How many were looked at. */
  entries: string;
  /** What the level should be, by its ledger. */
  by_ledger: string;
  last_sequence: string;
  /** How many entries do not start from what the one before left. */
  breaks: string;
  is_sum: boolean;
  is_gap_free: boolean;
  is_last: boolean;
}

export function levelMismatches(row: ComparedLevel): LedgerMismatch[] {
  const of = (kind: MismatchKind, expected: string, found: string): LedgerMismatch => ({
    kind,
    shopId: row.shop_id,
    materialId: row.material_id,
    locationId: row.location_id,
    levelId: row.id,
    expected,
    found,
  });
  return [
    ...(row.is_sum ? [] : [of('level-not-sum', row.by_ledger, row.quantity)]),
    ...(row.is_gap_free ? [] : [of('sequence-gap', row.entries, row.last_sequence)]),
    ...(row.is_last ? [] : [of('last-sequence', row.last_sequence, row.sequence)]),
    ...(row.breaks === '0' ? [] : [of('broken-chain', '0', row.breaks)]),
  ];
}

/** A virtual material whose total is not the sum of its levels. */
export interface WrongTotal {
  shop_id: number;
  material_id: string;
  total_quantity: string;
  /** The sum of its levels. */
  total: string;
}

export function totalMismatch(row: WrongTotal): LedgerMismatch {
  return {
    kind: 'total-not-sum',
    shopId: row.shop_id,
    materialId: row.material_id,
    locationId: null,
    levelId: null,
    expected: row.total,
    found: row.total_quantity,
  };
}
