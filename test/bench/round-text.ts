import { designs } from './designs.js';
import type { Round, RoundLoad } from './round.js';

/** A round as one line of progress. */
export function roundText(round: Round): string {
  const { design, requestsASecond, latency, foreignCores, failures, neverSent, problems } = round;
  const parts = [
    `${designs[design].symbol.padEnd(4)} ${String(Math.round(requestsASecond)).padStart(6)} requests/s`,
    `p50 ${latency.p50Ms.toFixed(2)} ms`,
    `p99 ${latency.p99Ms.toFixed(2)} ms`,
  ];
  if (foreignCores !== undefined) parts.push(`others ${foreignCores.toFixed(2)} cores`);
  for (const [status, count] of Object.entries(failures)) parts.push(`${count} × ${status}`);
  if (neverSent > 0) parts.push(`${neverSent} never sent`);
  return [parts.join(', '), ...problems.map((problem) => `    WRONG: ${problem}`)].join('\n');
}

export function loadText(load: RoundLoad): string {
  return load.loop === 'closed' ? `${load.connections} connections` : `${Math.round(load.rate)} due/s`;
}
