import { apisText } from './parts/apis.js';
import { exceptRefusals, failureProblems } from './failures.js';
import type { ApisSeen } from './parts/apis.js';
import type { FairnessSeen } from './parts/fairness.js';
import type { LockedSeen } from './parts/locked.js';
import type { OverloadSeen } from './parts/overload.js';
import type { PresentSeen } from './parts/present.js';
import type { RetentionSeen } from './parts/retention.js';
import type { Round } from './round.js';
import type { ScenarioName } from './scenarios.js';
import { median } from './median.js';

/** What the special parts came to, a sentence a line. */
export interface Specials {
  apis?: ApisSeen[];
  present?: PresentSeen;
  retention?: RetentionSeen;
  fairness?: FairnessSeen;
  overload?: OverloadSeen[];
  locked?: LockedSeen;
}

export function specialsText({ apis, present, retention, fairness, overload, locked }: Specials): string[] {
  return [
    ...(apis ?? []).map(apisText),
    ...(present === undefined ? [] : presentText(present)),
    ...(retention === undefined ? [] : retentionText(retention)),
    ...(fairness === undefined ? [] : [fairnessText(fairness)]),
    ...(overload ?? []).map(overloadText),
    ...(locked === undefined ? [] : [lockedText(locked)]),
  ];
}

/** What is wrong, beside the figures: a change that is lost or was made twice, and answers that no part expects. */
export function specialProblems({ apis, present, retention, fairness, overload, locked }: Specials): string[] {
  const full = [
    ...(present === undefined ? [] : [...present.empty, ...present.full]),
    ...(retention === undefined ? [] : [...retention.quiet, ...retention.deleting]),
    // Once a scenario: both numbers of connections have the same peak.
    ...new Set((overload ?? []).flatMap(({ peakRounds }) => peakRounds)),
  ];
  const overloaded = (overload ?? []).flatMap(({ rounds }) => rounds);
  const parts = [...full, ...overloaded, ...(apis ?? []), fairness, locked];
  return [
    ...parts.flatMap((part) => part?.problems ?? []),
    ...full.flatMap(({ scenario, failures }) => failureProblems(`${scenario} under full load`, failures)),
    ...overloaded.flatMap(({ scenario, failures }) =>
      failureProblems(`${scenario} under overload, beside refusals`, exceptRefusals(failures)),
    ),
  ];
}

function presentText({ rows, empty, full }: PresentSeen): string[] {
  return ratiosOf(empty, full).map(
    ({ scenario, before, after }) =>
      `${scenario} with ${rows.toLocaleString('en-GB')} operations and ledger rows present: ${whole(after)}/s against ${whole(before)}/s on an empty database (ratio ${(after / before).toFixed(3)}; must ≥ 0.9)`,
  );
}

function retentionText({ quiet, deleting, deleted }: RetentionSeen): string[] {
  const sum = deleted.reduce((total, count) => total + count, 0);
  return [
    ...ratiosOf(quiet, deleting).map(
      ({ scenario, before, after }) =>
        `${scenario} while old operations are deleted: ${whole(after)}/s against ${whole(before)}/s without (ratio ${(after / before).toFixed(3)})`,
    ),
    `deleted within those windows: ${whole(sum)} operations`,
  ];
}

function fairnessText(seen: FairnessSeen): string {
  const { capacity, quietRate, floodRate, alone, besideBusy, beside, besideYielding, p99Ratio, quietNeverSent } = seen;
  const p99 = (all: FairnessSeen['alone']) => median(all.map(({ p99Ms }) => p99Ms)).toFixed(1);
  return (
    `fairness (capacity ${whole(capacity)}/s): a shop with ${quietRate}/s has p99 ${p99(alone)} ms alone, ${p99(besideBusy)} ms beside programs that only keep ` +
    `every core busy, and ${p99(beside)} ms beside a shop with ${floodRate}/s (${p99Ratio.toFixed(2)} of alone; must ≤ 2); ` +
    `${p99(besideYielding)} ms where that shop's clients have only what the service leaves of the cores, as if they were elsewhere` +
    (quietNeverSent === 0 ? '' : `; ${whole(quietNeverSent)} of its own were never sent, for want of a free connection`)
  );
}

function overloadText({ scenario, connectionsMax, peak, rounds, goodput, apiMib, workerMib }: OverloadSeen): string {
  const done = rounds.map(({ requestsASecond }) => requestsASecond);
  const neverSent = rounds.reduce((total, round) => total + round.neverSent, 0);
  return (
    `${scenario} at 5 × the peak of ${whole(peak)}/s, over ${whole(connectionsMax)} connections: ${whole(median(done))}/s done (${whole(Math.min(...done))} to ${whole(Math.max(...done))}; ${goodput.toFixed(2)} of the peak; must ≥ 0.9), ` +
    `${refusalsText(rounds)}, ${whole(neverSent)} never sent for want of a connection; MiB API ${ends(apiMib)}, workers ${ends(workerMib)}`
  );
}

/** Latencies are those within the windows: what is refused while all connections begin at once is not measured. */
function refusalsText(rounds: readonly Round[]): string {
  const sum = (figure: (round: Round) => number) => rounds.reduce((total, round) => total + figure(round), 0);
  const worst = (figure: 'p50Ms' | 'p99Ms') => Math.max(...rounds.map(({ refusals }) => refusals[figure])).toFixed(1);
  const count = sum(({ refusals }) => refusals.count);
  const figures =
    count === 0 ? '' : `, p50 ${worst('p50Ms')} ms, p99 ${worst('p99Ms')} ms in the worst round (must < 50)`;
  const withoutRetryAfter = sum((round) => round.withoutRetryAfter);
  return `${whole(count)} refusals${figures} (${withoutRetryAfter} without Retry-After, warm-up included)`;
}

function lockedText({ rate, free, locked, statuses }: LockedSeen): string {
  const at = (all: LockedSeen['free'], figure: 'p50Ms' | 'p99Ms') => median(all.map((one) => one[figure])).toFixed(1);
  return (
    `another session holds one material's row: the others (${rate}/s) have p50 ${at(free, 'p50Ms')} → ${at(locked, 'p50Ms')} ms, p99 ${at(free, 'p99Ms')} → ${at(locked, 'p99Ms')} ms; ` +
    `the locked one was answered ${statuses.map((counts) => JSON.stringify(counts)).join(', ')}`
  );
}

function ratiosOf(before: readonly Round[], after: readonly Round[]) {
  const names = [...new Set(before.map(({ scenario }) => scenario))];
  const rate = (rounds: readonly Round[], name: ScenarioName) =>
    median(rounds.filter(({ scenario }) => scenario === name).map(({ requestsASecond }) => requestsASecond));
  return names.map((scenario) => ({ scenario, before: rate(before, scenario), after: rate(after, scenario) }));
}

/** A third of the way in, where it has warmed up, and at the end. */
function ends(mib: readonly number[]): string {
  return `${mib[Math.floor(mib.length / 3)] ?? '?'} → ${mib.at(-1) ?? '?'}`;
}

function whole(number: number): string {
  return Math.round(number).toLocaleString('en-GB');
}
