import { readFileSync } from 'node:fs';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

/** A metric that an expression of PromQL names. */
export interface Named {
  metric: string;
  labels: string[];
  /** Label values that are asked for as they are, not by a pattern. */
  equal: [string, string][];
}

/** The metrics that an expression of PromQL names, with the labels it picks them by. */
export function namedIn(expression: string): Named[] {
  const words = expression.replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => text.replaceAll(/[a-z_]/g, '·'));
  return [...words.matchAll(/\b(up|(?:raw_materials|nodejs|process)_[a-z0-9_]+)(\{[^}]*\})?/g)].map((match) => {
    const [, metric = '', picked = ''] = match;
    const original = expression.slice(match.index + metric.length, match.index + metric.length + picked.length);
    const pairs = [...original.matchAll(/([a-z_]+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"/g)];
    return {
      metric,
      labels: pairs.map(([, label = '']) => label),
      equal: pairs.flatMap(([, label = '', how, value = '']) =>
        how === '=' ? [[label, value] as [string, string]] : [],
      ),
    };
  });
}

/** The labels by which an expression groups what it sums. */
export function groupedBy(expression: string): string[] {
  return [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/, */));
}

/** The expressions of the alert rules, found behind `expr`: their file needs no more of YAML. */
export function alertExpressions(): string[] {
  const lines = read('shared/metrics/alerts.yml').split('\n');
  return lines.flatMap((line, index) => {
    const [, indent, first = ''] = /^( *)expr: (.*)$/.exec(line) ?? [];
    if (indent === undefined) return [];
    if (first !== '>-') return [first];
    const rest = lines.slice(index + 1);
    const end = rest.findIndex((each) => each.search(/\S/) <= indent.length);
    return [
      rest
        .slice(0, end)
        .map((each) => each.trim())
        .join(' '),
    ];
  });
}

export function dashboardExpressions(): string[] {
  const { panels } = JSON.parse(read('shared/metrics/grafana-dashboard.json')) as {
    panels: { targets?: { expr: string }[] }[];
  };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
