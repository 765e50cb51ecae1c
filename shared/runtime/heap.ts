import { setFlagsFromString } from 'node:v8';

/**
 * How a process of the service is started besides its script: by `npm start`, the scripts of package.json, the image and
 * the tests. MiB of a half of V8's young generation; what was alive through two fillings of it is old. 16 is what Node
 * 20 and 22 do by themselves. Since 24 it may be 64: then an API process took 410 MiB under overload instead of 300, for
 * a tenth more throughput; and in a container of 512 MiB it would be 1, for a tenth less. V8 reads it before any of our
 * code runs, so it cannot be set from here.
 */
export const heapArguments = ['--max-semi-space-size=16'];

/**
 * Garbage that V8 lets the old generation gather, in percent of what was alive after its last full collection. With 2,400
 * connections 60 MiB are; at 100 percent an API process came to 252 MiB, more than the 250 it may have, and did no more.
 */
const heapGrowingPercent = 60;

/**
 * How the heap of a service process is kept; called first of all, since what it says holds from then on.
 *
 * - It is collected before it has grown far beyond what is needed. A request that waits for its commit outlives the young
 *   generation, so most of what the old one holds is garbage: under load 45 MiB were alive and 165 MiB stood there before
 *   V8 collected, since by itself it lets the heap quadruple.
 * - Everything is born young. V8 notes which lines of code make objects that live on, and has them born old from then on;
 *   it noted those of our requests in a burst in which they waited, and did not take it back. Born old, a request is
 *   garbage that nobody collects for long, and keeps alive whatever it points at: over 2,400 connections 13 KB a request
 *   outlived a collection. Without it an adjustment takes the API a fifth to a third less CPU on Node 20, and a sixth to a
 *   quarter on 24 (test/bench/README.md).
 * - A young collection is made by the thread that needs it. By itself V8 shares it with helpers, though of 16 MiB one or
 *   two are alive: to wake them and wait for them takes longer than their part of it, also where cores are free, and more
 *   CPU everywhere.
 */
export function tuneHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${String(heapGrowingPercent)}`);
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--no-parallel-scavenge');
}
