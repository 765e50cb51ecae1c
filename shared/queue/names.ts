import { materialKey } from '../domain/operation.js';
import type { MaterialRef } from '../domain/operation.js';

/**
 * Every key of the pipeline carries one hash tag, so that it could run on Redis Cluster and a script may build key
 * names from its arguments (pipeline §4).
 */
const tag = '{raw-materials}';

/** BullMQ's prefix; a queue's keys are `<prefix>:<queue>:<type>`. */
export const queuePrefix = `${tag}:queue`;

export const keys = {
  /**
   * Sorted set of announced or leased materials; score: the millisecond at which the sweep makes them ready (again).
   */
  scheduled: `${tag}:scheduled`,
  /**
   * Rotation of the shops that have materials to be taken; `ready:<shop>` lists those of each shop, and may hold one
   * that is no longer scheduled.
   */
  ready: `${tag}:ready`,
  /** Hash of leased materials: the token of the take that holds each. */
  leases: `${tag}:leases`,
  /** Hash of ready materials: since when, in milliseconds. */
  since: `${tag}:since`,
  /** List of at most one entry, which wakes one idle lane. */
  wake: `${tag}:wake`,
  /** Sorted set of live workers; score: the millisecond at which each counts as gone. */
  workers: `${tag}:workers`,
  /**
   * Sorted set of the databases that live workers write to, one in all but for a moment; score: the millisecond at which
   * each counts as gone.
   */
  databases: `${tag}:databases`,
  /** `cut-off:<worker>` is there while that worker cannot use Postgres. */
  cutOff: `${tag}:cut-off`,
  /** Why Postgres refuses what workers write; it is there while it does. */
  refusal: `${tag}:refusal`,
  /** Never written; it serves to ask whether Redis takes writes. */
  nothing: `${tag}:nothing`,
} as const;

/** The channel on which an API process hears the outcomes of its operations. */
export function replyChannel(apiId: string): string {
  return `${tag}:replies:${apiId}`;
}

/** The name of a material's queue, which may not hold a colon. */
export function queueName(ref: MaterialRef): string {
  return materialKey(ref);
}

/** The inverse of `queueName`, for names that it made: others are not refused, but read as something. */
export function materialOfQueue(name: string): MaterialRef {
  const dot = name.indexOf('.');
  return { shopId: Number(name.slice(0, dot)), materialId: name.slice(dot + 1) };
}
