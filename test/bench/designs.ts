/** What is compared (pipeline §6). `ours` is the service as it is shipped; the others are processes of `baseline/`. */
export interface Design {
  /** As the tables say it. */
  symbol: string;
  title: string;
  /** Sizes of the pool that are tried before a scenario; the best is used. `ours` runs as it is configured. */
  pools: readonly number[];
  /** Whether it writes the ledger, so that the ledger can be checked. */
  hasLedger: boolean;
}

export type DesignName = 'ours' | 'd' | 'dPrime' | 'd1Prime' | 'f' | 'g';
export type BaselineName = Exclude<DesignName, 'ours'>;

/** One client at a time needs one connection; ten are what the API's own pool has. */
export const poolDefault = 10;

const rowPools = [2, 4, 10, 20, 40] as const;

export const designs: Readonly<Record<DesignName, Design>> = {
  ours: { symbol: 'ours', title: 'a queue a material, combining, a separate worker', pools: [], hasLedger: true },
  d: { symbol: 'd', title: 'a Knex transaction a row, level only', pools: rowPools, hasLedger: false },
  dPrime: { symbol: 'd′', title: 'd with ledger and total', pools: rowPools, hasLedger: true },
  d1Prime: { symbol: 'd1′', title: 'd′ with one transaction a request', pools: rowPools, hasLedger: true },
  f: { symbol: 'f', title: 'one set-based call a request, exactly once', pools: rowPools, hasLedger: true },
  // Each lane is a transaction at a time; more of them leave less to combine.
  g: { symbol: 'g', title: 'f with combining in the API process', pools: [1, 2, 4], hasLedger: true },
};

export const designNames = Object.keys(designs) as DesignName[];

export function isBaseline(name: DesignName): name is BaselineName {
  return name !== 'ours';
}
