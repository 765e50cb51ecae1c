import type { PlannedRequest } from './plan-requests.js';

/** What became of the changes of one kind to one material, in units added at each row of a request. */
export interface Account {
  kind: number;
  material: number;
  acknowledged: number;
  /** Sent, with an unknown outcome: still on the way, or without an answer that settles it. */
  open: number;
}

/** A row that failed in a request whose other rows were booked. */
export interface MissedRow {
  material: number;
  /** Index of its location. */
  row: number;
  units: number;
}

/** What a material must have gained at its first location so far: at least `acknowledged`, at most both together. */
export interface Standing {
  acknowledged: number;
  open: number;
}

/** Every change that was sent, so that the levels can be held against it. */
export interface Accounts {
  sent(request: PlannedRequest): void;
  /** @param failedRows by index; all others were booked */
  acknowledged(request: PlannedRequest, failedRows: readonly number[]): void;
  /** Certainly not applied. */
  refused(request: PlannedRequest): void;
  standing(material: number): Standing;
  all(): Account[];
  missed(): MissedRow[];
}

export function createAccounts(kinds: number): Accounts {
  const accounts = new Map<number, Account>();
  const missed: MissedRow[] = [];
  const of = ({ kind, material }: PlannedRequest): Account => {
    const name = material * kinds + kind;
    let account = accounts.get(name);
    if (account === undefined) accounts.set(name, (account = { kind, material, acknowledged: 0, open: 0 }));
    return account;
  };
  return {
    sent: (request) => {
      of(request).open += request.delta;
    },
    acknowledged: (request, failedRows) => {
      const account = of(request);
      account.open -= request.delta;
      account.acknowledged += request.delta;
      for (const row of failedRows) missed.push({ material: request.material, row, units: request.delta });
    },
    refused: (request) => {
      of(request).open -= request.delta;
    },
    standing: (material) => {
      const sum: Standing = { acknowledged: 0, open: 0 };
      for (let kind = 0; kind < kinds; kind += 1) {
        const account = accounts.get(material * kinds + kind);
        sum.acknowledged += account?.acknowledged ?? 0;
        sum.open += account?.open ?? 0;
      }
      for (const one of missed) if (one.material === material && one.row === 0) sum.acknowledged -= one.units;
      return sum;
    },
    all: () => [...accounts.values()],
    missed: () => [...missed],
  };
}
