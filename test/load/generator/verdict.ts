import type { Accounts } from './accounts.js';
import type { Outcome } from './lane.js';
import type { PlannedRequest } from './plan-requests.js';
import type { Answer } from './read-answer.js';

/** How a request ended, as it is counted. Only a change can be `unknown`. */
export type Verdict = 'ok' | 'refused' | 'failed' | 'unknown';

/** Answers that promise that a change was not applied, and may be tried again. */
const refusals = [429, 503];
/** What leaves a change open: the service says so with 504; a 502 comes from somebody in between. */
const openStatuses = [502, 504];

export function judge({ rows }: PlannedRequest, outcome: Outcome): Verdict {
  if (outcome === 'unsent') return 'failed';
  if (outcome === 'lost') return rows > 0 ? 'unknown' : 'failed';
  if (rows > 0 ? outcome.allRowsOk : outcome.status === 200) return 'ok';
  if (refusals.includes(outcome.status)) return 'refused';
  return rows > 0 && openStatuses.includes(outcome.status) ? 'unknown' : 'failed';
}

/** Enters the end of a change into the accounts. */
export function book(accounts: Accounts, request: PlannedRequest, outcome: Outcome, verdict: Verdict): void {
  if (verdict === 'unknown') return;
  if (verdict === 'ok') return accounts.acknowledged(request, []);
  if (typeof outcome === 'object' && outcome.status === 200)
    return accounts.acknowledged(request, failedRowsOf(outcome));
  accounts.refused(request);
}

/** The name of an end in the counts: its status, or what happened instead of one. */
export function statusOf(outcome: Outcome, verdict: Verdict): string {
  if (typeof outcome === 'string') return outcome;
  return verdict === 'failed' && outcome.status === 200 ? '200 with failed rows' : String(outcome.status);
}

function failedRowsOf({ body }: Answer): number[] {
  const { data } = JSON.parse(body.toString('utf8')) as { data: { results: { index: number; ok: boolean }[] } };
  return data.results.flatMap(({ index, ok }) => (ok ? [] : [index]));
}
