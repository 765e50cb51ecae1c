/** What a reply says of the cost of its query and of the bucket it was paid from, in points. */
export interface QueryCost {
  /** Must be in the bucket before the query runs; what it does not use is given back. */
  requestedPoints: number;
  availablePoints: number;
  /** How much the bucket holds, where the reply says so. */
  maximumPoints: number | undefined;
  restoredPerSecond: number;
}

/**
 * A shop's bucket of points as its replies tell of it
 * (https://shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits), so that work in the background waits before it
 * would be refused, and leaves something to those who wait for an answer.
 */
export interface Throttle {
  hear(document: string, cost: QueryCost): void;
  /** How long until the bucket holds what this query costs and the reserve; 0 where nothing is known. */
  waitMs(document: string): number;
  /** Called if the figures ask for a wait beyond the deadline, so that they are not used a second time. */
  forget(): void;
}

/** Stays in the bucket for live reads: a page of a variant's levels is about 155 points. */
const reservedPoints = 200;

export function createThrottle(nowMs: () => number): Throttle {
  let bucket: { atMs: number; cost: QueryCost } | undefined;
  const requestedPoints = new Map<string, number>();
  return {
    hear(document, cost) {
      requestedPoints.set(document, cost.requestedPoints);
      bucket = { atMs: nowMs(), cost };
    },
    waitMs(document) {
      const wanted = requestedPoints.get(document);
      if (bucket === undefined || wanted === undefined) return 0;
      const { availablePoints, maximumPoints = Infinity, restoredPerSecond } = bucket.cost;
      // More than a full bucket would never be there.
      const missingPoints = Math.min(wanted + reservedPoints, maximumPoints) - availablePoints;
      const restoredInMs = (missingPoints / restoredPerSecond) * 1_000;
      return Math.max(0, Math.ceil(restoredInMs - (nowMs() - bucket.atMs)));
    },
    forget() {
      bucket = undefined;
      requestedPoints.clear();
    },
  };
}
