import { groupBy } from '../group-by.js';
import type { Sample } from './exposition.js';

/** A series at the end of a range, and the increase over it, which Prometheus would extrapolate. */
export interface Series extends Sample {
  increase: number;
}

type Labels = Sample['labels'];
type Vector = { labels: Labels; value: number }[];
type Value = number | Vector;

const tokenPattern = /"(?:[^"\\]|\\.)*"|[a-zA-Z_:][a-zA-Z0-9_:]*|\d+[smh]|\d+(?:\.\d+)?|[=!]~|[<>=!]=|[^\s]/g;
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };
const operators: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '>': (left, right) => left > right,
  '<=': (left, right) => left <= right,
  '>=': (left, right) => left >= right,
};
const aggregates: Readonly<Record<string, (values: number[]) => number>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
};

interface Source {
  series: readonly Series[];
  peek: () => string | undefined;
  /** @throws where the next is not what is wanted */
  take: (wanted?: string) => string;
}

/**
 * What an expression of PromQL selects from these series. It knows as much of the language as the alert rules use, and
 * throws at the rest: selectors, `rate`, `increase`, `absent`, `sum`, `min`, `max` with `by`, `histogram_quantile`, a
 * division, a comparison with a number, and `or` of vectors whose labels differ.
 */
export function evaluatePromql(expression: string, series: readonly Series[]): Vector {
  const tokens = expression.match(tokenPattern) ?? [];
  const peek = () => tokens[0];
  const take = (wanted?: string): string => {
    const token = tokens.shift();
    if (token === undefined || (wanted !== undefined && token !== wanted))
      throw new Error(`${wanted ?? 'something'} is missing before ${token ?? 'the end'} in ${expression}`);
    return token;
  };
  const selected = vectorOf(alternatives({ series, peek, take }));
  if (tokens.length > 0) throw new Error(`${tokens.join(' ')} is left of ${expression}`);
  return selected;
}

function alternatives(source: Source): Value {
  const first = comparison(source);
  if (source.peek() !== 'or') return first;
  source.take('or');
  return [...vectorOf(first), ...vectorOf(alternatives(source))];
}

function comparison(source: Source): Value {
  const left = quotient(source);
  const compare = operators[source.peek() ?? ''];
  if (compare === undefined) return left;
  source.take();
  const limit = scalarOf(quotient(source));
  return vectorOf(left).filter(({ value }) => compare(value, limit));
}

function quotient(source: Source): Value {
  const left = operand(source);
  if (source.peek() !== '/') return left;
  source.take('/');
  const right = vectorOf(operand(source));
  return vectorOf(left).flatMap(({ labels, value }) => {
    const same = right.filter((other) => keyOf(other.labels) === keyOf(labels));
    return same.map((other) => ({ labels, value: value / other.value }));
  });
}

function operand(source: Source): Value {
  const name = source.take();
  if (/^\d/.test(name)) return Number(name);
  const aggregate = aggregates[name];
  if (aggregate !== undefined) return aggregated(source, aggregate);
  if (name === 'rate' || name === 'increase') return counted(source, name === 'rate');
  if (name === 'absent') {
    source.take('(');
    return parenthesised(source).length === 0 ? [{ labels: {}, value: 1 }] : [];
  }
  if (name !== 'histogram_quantile') return picked(source, name);
  source.take('(');
  const share = scalarOf(comparison(source));
  source.take(',');
  return [{ labels: {}, value: quantile(share, parenthesised(source)) }];
}

/** What stands before a closing parenthesis. */
function parenthesised(source: Source): Vector {
  const inner = vectorOf(comparison(source));
  source.take(')');
  return inner;
}

function aggregated(source: Source, aggregate: (values: number[]) => number): Vector {
  const by: string[] = [];
  if (source.peek() === 'by') {
    source.take('by');
    for (let end = source.take('('); end !== ')'; end = source.take()) by.push(source.take());
  }
  source.take('(');
  const groups = groupBy(parenthesised(source), ({ labels }) => keyOf(only(labels, by)));
  return [...groups.values()].map((members) => ({
    labels: only(members[0]?.labels ?? {}, by),
    value: aggregate(members.map(({ value }) => value)),
  }));
}

function counted(source: Source, perSecond: boolean): Vector {
  source.take('(');
  const members = picked(source, source.take());
  source.take('[');
  const range = source.take();
  source.take(']');
  source.take(')');
  const seconds = parseInt(range, 10) * (unitSeconds[range.at(-1) ?? ''] ?? NaN);
  return members.map(({ labels, increase }) => ({ labels, value: perSecond ? increase / seconds : increase }));
}

function picked({ series, peek, take }: Source, name: string): Series[] {
  let members = series.filter((each) => each.name === name);
  if (peek() !== '{') return members;
  for (let end = take('{'); end !== '}'; end = take()) {
    const [label, how, value] = [take(), take(), JSON.parse(take()) as string];
    const matches = how.endsWith('~') ? new RegExp(`^(?:${value})$`) : { test: (text: string) => text === value };
    members = members.filter(({ labels }) => matches.test(labels[label] ?? '') !== how.startsWith('!'));
  }
  return members;
}

const keyOf = (labels: Labels) => JSON.stringify(Object.entries(labels).sort());

const only = (labels: Labels, names: string[]): Labels =>
  Object.fromEntries(names.map((name) => [name, labels[name] ?? '']));

function scalarOf(value: Value): number {
  if (typeof value !== 'number') throw new Error('a number is wanted');
  return value;
}

function vectorOf(value: Value): Vector {
  if (typeof value === 'number') throw new Error('a vector is wanted');
  return value;
}

/** Of one histogram, with a linear course within each bucket; where it ends in the last, that one's lower bound. */
function quantile(share: number, buckets: Vector): number {
  const bounds = buckets
    .map(({ labels, value }) => ({ le: labels['le'] === '+Inf' ? Infinity : Number(labels['le']), count: value }))
    .sort((a, b) => a.le - b.le);
  const rank = share * (bounds.at(-1)?.count ?? NaN);
  const index = bounds.findIndex(({ count }) => count >= rank);
  const lower = bounds[index - 1] ?? { le: 0, count: 0 };
  const upper = bounds[index];
  if (upper === undefined) return NaN;
  if (upper.le === Infinity) return lower.le;
  return lower.le + ((upper.le - lower.le) * (rank - lower.count)) / (upper.count - lower.count);
}
