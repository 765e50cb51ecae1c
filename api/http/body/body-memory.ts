import { afterRunning } from '../../../shared/runtime/running-wait.js';

/** Bounds the memory of bodies that are being read, or whose request is not answered yet. */
export interface BodyMemory {
  /**
   * Asks for a place of so many bytes; undefined if there is none in time. Of those that fit, the first to ask comes
   * first: small bodies may overtake a large one, which is refused after `waitMsMax`.
   */
  enter(shopId: number, bytes: number): Promise<BodyPlace | undefined>;
}

export interface BodyPlace {
  /** Keeps only what the body turned out to need; asking for more than is held changes nothing. */
  shrinkTo(bytes: number): void;
  leave(): void;
}

export interface BodyMemoryLimits {
  processBytesMax: number;
  /** No shop's bodies keep out those of the others. */
  shopBytesMax: number;
  waitMsMax: number;
}

interface Waiting {
  shopId: number;
  bytes: number;
  enter: () => void;
}

/**
 * Without it 500 requests of 1 MB that stopped before their last byte took a process to 647 MB, for as long as a
 * request may take to arrive; a read key and the shop's budget of a minute were enough.
 */
export function createBodyMemory({ processBytesMax, shopBytesMax, waitMsMax }: BodyMemoryLimits): BodyMemory {
  const byShop = new Map<number, number>();
  const waiting = new Set<Waiting>();
  let taken = 0;

  const ofShop = (shopId: number) => byShop.get(shopId) ?? 0;
  const fits = (shopId: number, bytes: number) =>
    taken + bytes <= processBytesMax && ofShop(shopId) + bytes <= shopBytesMax;

  function change(shopId: number, bytes: number): void {
    taken += bytes;
    const now = ofShop(shopId) + bytes;
    if (now > 0) byShop.set(shopId, now);
    else byShop.delete(shopId);
  }

  function take(shopId: number, bytes: number): BodyPlace {
    let held = bytes;
    change(shopId, bytes);
    const shrinkTo = (wanted: number) => {
      if (wanted >= held) return;
      change(shopId, wanted - held);
      held = wanted;
      for (const next of waiting) if (fits(next.shopId, next.bytes)) next.enter();
    };
    return {
      shrinkTo,
      leave: () => shrinkTo(0),
    };
  }

  return {
    async enter(shopId, bytes) {
      if (fits(shopId, bytes)) return take(shopId, bytes);
      return new Promise((resolve) => {
        const stop = afterRunning(waitMsMax, () => {
          waiting.delete(next);
          resolve(undefined);
        });
        const next = {
          shopId,
          bytes,
          enter: () => {
            stop();
            waiting.delete(next);
            resolve(take(shopId, bytes));
          },
        };
        waiting.add(next);
      });
    },
  };
}
