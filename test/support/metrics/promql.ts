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

export interface AlertRule {
  name: string;
  expression: string;
  /** Its `for`. */
  lasts: string | undefined;
  /** What is to be done, for whom it calls. */
  description: string | undefined;
}

/** The alert rules, found by their keys: their file needs no more of YAML. */
export function alertRules(): AlertRule[] {
  const [, ...rules] = read('shared/metrics/alerts.yml').split(/^ *- alert: /m);
  return rules.map((rule) => {
    const [, indent = '', first = ''] = /^( *)expr: (.*)$/m.exec(rule) ?? [];
    const folded = rule.split(/expr: .*\n/)[1]?.split('\n') ?? [];
    const end = folded.findIndex((line) => line.search(/\S/) <= indent.length);
    const lines = first === '>-' ? folded.slice(0, end) : [first];
    return {
      name: rule.slice(0, rule.indexOf('\n')),
      expression: lines.map((line) => line.trim()).join(' '),
      lasts: /^ *for: (.*)$/m.exec(rule)?.[1],
      description: /^ *description: (.*)$/m.exec(rule)?.[1],
    };
  });
}

export function alertExpressions(): string[] {
  return alertRules().map(({ expression }) => expression);
}

export function dashboardExpressions(): string[] {
  const { panels } = JSON.parse(read('shared/metrics/grafana-dashboard.json')) as {
    panels: { targets?: { expr: string }[] }[];
  };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
