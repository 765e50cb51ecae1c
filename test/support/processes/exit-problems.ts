import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a place for what goes wrong while a process of test files exits, because nobody looks at its exit code. The
 * process that was started reads it at the end of the run, and fails.
 */
export function openExitProblems(): void {
  process.env.TEST_EXIT_PROBLEMS = join(tmpdir(), `raw-materials-exit-problems-${String(process.pid)}`);
}

export function addExitProblem(problem: string): void {
  const path = process.env.TEST_EXIT_PROBLEMS;
  if (path !== undefined) appendFileSync(path, `${problem}\n`);
}

/** @throws with all of them, where there are any */
export function throwExitProblems(): void {
  const path = process.env.TEST_EXIT_PROBLEMS;
  if (path === undefined || !existsSync(path)) return;
  const problems = readFileSync(path, 'utf8').trim();
  rmSync(path);
  throw new Error(problems);
}
