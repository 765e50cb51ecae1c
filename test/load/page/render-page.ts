import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Cell } from '../../../shared/manage/format-table.js';

/** Lines over a common axis. */
export interface LinePlot {
  kind: 'lines';
  title: string;
  xTitle: string;
  yTitle: string;
  /** `percentile`: values are 1 / (1 − p), shown as percentiles, so that the tail has room. */
  xScale: 'linear' | 'log' | 'percentile';
  yScale: 'linear' | 'log';
  xs: number[];
  series: { name: string; values: (number | null)[] }[];
  /** Each series has values of its own at some of the xs, to be joined over those of the others. */
  isSparse?: true;
}

/** A bar for each name, in groups. */
export interface BarPlot {
  kind: 'bars';
  title: string;
  unit: string;
  groups: { name: string; bars: { name: string; value: number; note?: string }[] }[];
}

export interface PageTable {
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
}

export interface Section {
  title: string;
  lines?: readonly string[];
  table?: PageTable;
  plots?: readonly (LinePlot | BarPlot)[];
}

export interface Page {
  title: string;
  lines: readonly string[];
  sections: readonly Section[];
}

const require = createRequire(import.meta.url);
const drawScript = fileURLToPath(new URL('./draw.mjs', import.meta.url));

/** The page may run what stands in it and load nothing: a browser holds it to that. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

const style = `
  body { font: 15px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1c2430; background: #fff }
  h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem } h3 { font-size: .95rem; margin: 1.2rem 0 .3rem }
  .scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums }
  th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid #dfe4ea; white-space: nowrap } td.number { text-align: right }
  .bars { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .7rem; align-items: center; font-size: .86rem }
  .bars b { grid-column: 1 / 3; margin-top: .6rem } .bar { background: #2f6fb2; height: 1.05rem; border-radius: 2px }
  .track { display: flex; align-items: center; gap: .5rem } .wrong { color: #a3161b; font-weight: 600 }
`;

/** One self-contained HTML page: plots by uPlot, whose code and style stand in it. */
export function renderPage({ title, lines, sections }: Page): string {
  const plots: LinePlot[] = [];
  const body = sections.map((section) => renderSection(section, plots)).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${readFileSync(require.resolve('uplot/dist/uPlot.min.css'), 'utf8')}${style}</style>
</head>
<body>
<h1>${escape(title)}</h1>
${lines.map(paragraph).join('\n')}
${body}
<script type="application/json" id="plots">${JSON.stringify(plots).replaceAll('<', '\\u003c')}</script>
<script>${readFileSync(require.resolve('uplot/dist/uPlot.iife.min.js'), 'utf8')}</script>
<script type="module">${readFileSync(drawScript, 'utf8')}</script>
</body>
</html>
`;
}

function renderSection({ title, lines = [], table, plots = [] }: Section, drawn: LinePlot[]): string {
  const parts = plots.map((plot) => {
    if (plot.kind === 'bars') return renderBars(plot);
    drawn.push(plot);
    return `<h3>${escape(plot.title)}</h3>\n<div data-plot="${drawn.length - 1}"></div>`;
  });
  return [
    `<h2>${escape(title)}</h2>`,
    ...lines.map(paragraph),
    ...(table === undefined ? [] : [renderTable(table)]),
    ...parts,
  ].join('\n');
}

function renderTable({ head, rows }: PageTable): string {
  const headCells = head.map((cell) => `<th>${escape(cell)}</th>`).join('');
  const lines = rows.map(
    (row) =>
      `<tr>${row.map((cell) => `<td${isNumber(cell) ? ' class="number"' : ''}>${show(cell)}</td>`).join('')}</tr>`,
  );
  return `<div class="scroll"><table><thead><tr>${headCells}</tr></thead><tbody>${lines.join('\n')}</tbody></table></div>`;
}

function renderBars({ title, unit, groups }: BarPlot): string {
  const most = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value)), Number.MIN_VALUE);
  const lines = groups.flatMap(({ name, bars }) => [
    `<b>${escape(name)}</b>`,
    ...bars.map(({ name: bar, value, note = '' }) => {
      const label = `${Math.round(value).toLocaleString('en-GB')} ${unit} ${note}`;
      return `<span>${escape(bar)}</span><span class="track"><span class="bar" style="width:${((70 * value) / most).toFixed(2)}%"></span>${escape(label)}</span>`;
    }),
  ]);
  return `<h3>${escape(title)}</h3>\n<div class="bars">${lines.join('\n')}</div>`;
}

function paragraph(line: string): string {
  return `<p${/^(WRONG|MISSED|NOT HELD)/.test(line) ? ' class="wrong"' : ''}>${escape(line)}</p>`;
}

function isNumber(cell: Cell): boolean {
  return typeof cell === 'number' || (typeof cell === 'string' && /^[\d., –]+$/.test(cell));
}

function show(cell: Cell): string {
  return cell === null || cell === undefined ? '' : escape(String(cell));
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
