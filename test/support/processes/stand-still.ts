const nobody = new Int32Array(new SharedArrayBuffer(4));

/** Holds this process, its timers and its sockets, as a machine that is taken away does. */
export function standStill(ms: number): void {
  Atomics.wait(nobody, 0, 0, ms);
}
