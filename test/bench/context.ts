import type { BenchOptions } from './options.js';
import type { RunningDesign, Stack } from './stack.js';

/** What every part of the benchmark has to work with. */
export interface BenchContext {
  stack: Stack;
  options: BenchOptions;
  say: (line: string) => void;
}

/** @throws where the service itself was not started: every part but the rounds is about it */
export function oursOf({ stack }: BenchContext): RunningDesign {
  const ours = stack.designs.get('ours');
  if (ours === undefined) throw new Error('this part needs the design ours');
  return ours;
}
