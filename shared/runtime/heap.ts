import { setFlagsFromString } from 'node:v8';

/**
 * Arguments that Node gets besides the script, from `npm start`, the scripts of package.json, the image and the tests.
 * V8 reads this one before any of our code runs, so `tuneHeap` cannot set it.
 *
 * It is the size of one half of V8's young generation, in MiB; what survives two fillings of it becomes old. 16 is the
 * default of Node 20 and 22. In 24 the default depends on memory. With 64, an API process took 410 MiB under overload
 * instead of 300, for a tenth more throughput; in a container of 512 MiB it would be 1, for a tenth less.
 */
export const heapArguments = ['--max-semi-space-size=16'];

/**
 * Garbage that V8 lets the old generation gather, in percent of what was alive after its last full collection (60 MiB
 * with 2,400 connections). At 100 percent an API process took 252 MiB for no more work; it may have 250.
 */
const heapGrowingPercent = 60;

/**
 * Tunes the heap of a service process; called first of all, because it takes effect from then on.
 *
 * - The heap is collected before it grows far beyond what is needed. A request that waits for its commit outlives the
 *   young generation, so most of what the old one holds is garbage: under load 45 MiB were alive and 165 MiB stood
 *   there before V8 collected, because by default it lets the heap quadruple.
 * - Everything is born young. By default V8 notes which lines of code make objects that live on, and from then on has
 *   those born old; it noted those of our requests in a burst in which they waited, and never took it back. A request
 *   born old is garbage that nobody collects for long, and keeps alive whatever it points at: over 2,400 connections 13
 *   KB a request outlived a collection. If all are born young, an adjustment takes the API a fifth to a third less CPU
 *   on Node 20, and a sixth to a quarter on 24 (test/bench/README.md).
 * - The thread that needs a young collection makes it alone. By default V8 shares it with helpers, though of 16 MiB one
 *   or two are alive: waking the helpers and waiting for them takes longer than their part of the work, even if cores
 *   are free, and more CPU everywhere.
 */
export function tuneHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--no-parallel-scavenge');
}
