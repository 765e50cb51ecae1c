/** Answers other than full successes, by how they ended. */
export type Failures = Readonly<Record<string, number>>;

export function failuresOf({ statuses }: { statuses: Failures }): Failures {
  const { 200: _, ...failures } = statuses;
  return failures;
}

/** What may be answered where more is asked than can be done. */
const refusals = ['429', '503'];

export function exceptRefusals(failures: Failures): Failures {
  return Object.fromEntries(Object.entries(failures).filter(([status]) => !refusals.includes(status)));
}

/**
 * A sentence for the report where there are any. Latencies are those of full successes alone: without it, whoever
 * refused what is slow would look fast.
 */
export function failureProblems(whose: string, failures: Failures): string[] {
  const counts = Object.entries(failures).map(([status, count]) => `${count} × ${status}`);
  return counts.length === 0 ? [] : [`${whose}: ${counts.join(', ')}, where nothing was to fail`];
}

export function sumOfFailures(all: readonly Failures[]): Failures {
  const sum: Record<string, number> = {};
  for (const [status, count] of all.flatMap((failures) => Object.entries(failures)))
    sum[status] = (sum[status] ?? 0) + count;
  return sum;
}
