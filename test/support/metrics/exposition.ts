/** A sample of Prometheus' text format: `name{label="value"} 1`. */
export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** What a process says on `/metrics`, parsed. */
export interface Scrape {
  samples: Sample[];
  /** By metric: `counter`, `gauge` or `histogram`. */
  types: Map<string, string>;
  /** The sum of the samples of this name that have these labels, 0 where there are none. */
  sum(name: string, labels?: Record<string, string>): number;
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelPair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

/** Reads `/metrics` of an admin port; throws where it is not what Prometheus would take. */
export async function scrape(adminUrl: string | undefined): Promise<Scrape> {
  if (adminUrl === undefined) throw new Error('the process has no admin port');
  const response = await fetch(`${adminUrl}/metrics`);
  const type = response.headers.get('content-type') ?? 'no type';
  if (response.status !== 200 || !type.startsWith('text/plain; version=0.0.4'))
    throw new Error(`${response.status} ${type}: ${await response.text()}`);
  return parseExposition(await response.text());
}

/** The text format 0.0.4, strictly: each metric with HELP and TYPE before its samples, once, in one block. */
export function parseExposition(text: string): Scrape {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  let current: string | undefined;
  let helped: string | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (!metricName.test(name) || types.has(name))
        throw new Error(`a bad name, or a metric that comes twice: ${line}`);
      helped = name;
    } else if (keyword === 'TYPE') {
      if (helped !== name || !['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`a bad type: ${line}`);
      types.set(name, rest);
      current = name;
    } else {
      const sample = parseSample(line);
      if (current === undefined || !belongsTo(sample, current, types.get(current))) throw new Error(`astray: ${line}`);
      samples.push(sample);
    }
  }
  const matches = (sample: Sample, labels: Record<string, string>) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  return {
    samples,
    types,
    sum: (name, labels = {}) =>
      samples.reduce((sum, each) => (each.name === name && matches(each, labels) ? sum + each.value : sum), 0),
  };
}

function parseSample(line: string): Sample {
  const [, name, pairs = '', text = ''] = sampleLine.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a sample: ${line}`);
  const labels: Record<string, string> = {};
  labelPair.lastIndex = 0;
  while (labelPair.lastIndex < pairs.length) {
    const [, label, value] = labelPair.exec(pairs) ?? [];
    if (label === undefined || value === undefined) throw new Error(`bad labels: ${line}`);
    labels[label] = value;
  }
  const value = text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text);
  // Go's ParseFloat, which Prometheus reads with, ignores case, and prom-client writes `Nan`.
  if (text.toLowerCase() !== 'nan' && Number.isNaN(value)) throw new Error(`not a number: ${line}`);
  return { name, labels, value };
}

function belongsTo({ name, labels }: Sample, metric: string, type: string | undefined): boolean {
  if (type !== 'histogram') return name === metric;
  return name === `${metric}_bucket` ? 'le' in labels : name === `${metric}_sum` || name === `${metric}_count`;
}
