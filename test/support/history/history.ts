import type { Answer } from '../http/http.js';

/** What the clients of a run wanted, and what they were told: the input of the ledger checker. */
export interface History {
  intents: Intent[];
  reads: LevelRead[];
}

/** One row of a batch as a client sends it, in units. */
export interface SentRow {
  locationId: string;
  delta?: number;
  absolute?: number;
}

/** One change that a client wants made once, however many attempts that takes. */
export interface Intent {
  materialId: string;
  /** The `reference` of each of its rows in the ledger. */
  tag: string;
  change: { kind: 'adjust'; rows: SentRow[] } | { kind: 'update'; total: number };
  /** Its Idempotency-Key; without one there is a single attempt. */
  key: string | undefined;
  attempts: Attempt[];
}

export interface Attempt {
  sentMs: number;
  /** Infinity where no answer came. */
  answeredMs: number;
  /** Undefined where the connection broke. */
  answer: Answer | undefined;
}

/** Levels as a client read them, in units; a location without a level is absent. */
export interface LevelRead {
  materialId: string;
  sentMs: number;
  answeredMs: number;
  levels: Map<string, number>;
}

/** What a client knows of its intent in the end. */
export type Knowledge =
  | { status: 'executed'; attempt: Attempt; answer: Answer }
  /** Every attempt was certainly not applied. */
  | { status: 'not-applied' }
  /** An attempt was left open, and nothing settled it. */
  | { status: 'open' };

/** How often each status was answered to an attempt; `none` where the connection broke. */
export function countStatuses({ intents }: History): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { answer } of intents.flatMap(({ attempts }) => attempts)) {
    const status = String(answer?.status ?? 'none');
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** What each refusal (503) said of its reason. */
export function refusalsOf({ intents }: History): string[] {
  const answers = intents.flatMap(({ attempts }) => attempts).map(({ answer }) => answer);
  return answers
    .filter((answer) => answer?.status === 503)
    .map((answer) => (answer?.body as { error: { message: string } }).error.message);
}

/** Answers of an execution: the change was made, or refused by its own rules, and is on record (contract §7). */
export function isExecuted({ status }: Answer): boolean {
  return status === 200 || status === 404 || status === 400;
}

export function knowledgeOf({ attempts }: Intent): Knowledge {
  for (const attempt of attempts) {
    const { answer } = attempt;
    if (answer !== undefined && isExecuted(answer)) return { status: 'executed', attempt, answer };
  }
  const isCertain = attempts.every(({ answer }) => answer?.status === 503);
  return { status: isCertain ? 'not-applied' : 'open' };
}
