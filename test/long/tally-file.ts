import { existsSync, readFileSync } from 'node:fs';
import type { Progress } from '../support/long-run/counting.js';
import type { Tally } from '../support/long-run/long-run.js';

/** What a run has written so far: its tallies, and the newest progress of what is still being counted. */
export interface Told {
  tallies: Tally[];
  progress: Progress | undefined;
}

/** Reads the file that `TEST_TALLY` names; a line that is still being written counts for the next time. */
export function readTallyFile(path: string): Told {
  if (!existsSync(path)) return { tallies: [], progress: undefined };
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const told: Told = { tallies: [], progress: undefined };
  for (const line of lines) {
    const entry = JSON.parse(line) as Tally | Progress;
    if ('made' in entry) told.progress = entry;
    else {
      told.tallies.push(entry);
      told.progress = undefined;
    }
  }
  return told;
}
