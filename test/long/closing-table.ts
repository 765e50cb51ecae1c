import type { RunResult } from './run-test.js';

const columns = ['test', 'what', 'count', 'failures', '3/N (95 %)', 'time', 'verdict', 'figures'] as const;

type Row = Record<(typeof columns)[number], string>;

/**
 * With no failure in N trials the rate of failures is below 3/N with 95 % confidence (the rule of three, for N from
 * some 30 on); with one or more, or no trial, it says nothing.
 */
export function ruleOfThree(count: number, failures: number): string {
  if (failures > 0 || count < 1) return '–';
  return `≤ ${Number((3 / count).toPrecision(2)).toString()}`;
}

/** The runs as a table for a terminal: a line for each thing that was counted. */
export function closingTable(results: RunResult[]): string {
  const rows: Row[] = results.flatMap(rowsOf);
  const all = [Object.fromEntries(columns.map((name) => [name, name])) as Row, ...rows];
  const widths = columns.map((name) => Math.max(...all.map((row) => row[name].length)));
  return all
    .map((row) =>
      columns
        .map((name, index) => row[name].padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function rowsOf({ test, tallies, progress, verdict, durationMs }: RunResult): Row[] {
  const row = (what: string, count: number, failures: number, figures: Record<string, number | string>): Row => ({
    test: test.name,
    what,
    count: String(count),
    failures: String(failures),
    '3/N (95 %)': ruleOfThree(count, failures),
    time: timeOf(durationMs),
    verdict,
    figures: Object.entries(figures)
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(', '),
  });
  const rows = tallies.map(({ unit, count, failures, figures = {} }) => row(unit, count, failures, figures));
  // If a test was cut off, only what had been judged counts; a hang is a failure in itself.
  if (progress !== undefined) {
    const failures = verdict === 'failed' || verdict === 'hung' ? 1 : 0;
    rows.push(row(progress.unit, progress.judged, failures, { 'cut off after': progress.made }));
  }
  const nothing: Row = { ...row('–', 0, 0, {}), count: '–', failures: verdict === 'passed' ? '0' : '–' };
  return rows.length > 0 ? rows : [nothing];
}

function timeOf(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  return seconds < 60 ? `${String(seconds)} s` : `${String(Math.floor(seconds / 60))} min ${String(seconds % 60)} s`;
}
