import { fileURLToPath } from 'node:url';

/** What a process with armed fail-points sends for each pass; `fires` when the point acts at this one. */
export interface FailPointHit {
  type: 'fail-point';
  name: string;
  pass: number;
  fires: boolean;
}

/** What it sends once it goes on after a fail-point that has stopped it. */
export interface GoneOn {
  type: 'gone-on';
  name: string;
}

/**
 * Arguments for node that arm the fail-points of a process; none without a specification, so that it starts as it is
 * built.
 */
export function failPointArguments(specification: string | undefined): string[] {
  if (specification === undefined || specification === '') return [];
  return ['--import', fileURLToPath(new URL('./fail-point-loader.mjs', import.meta.url))];
}
