import { setTimeout as delay } from 'node:timers/promises';
import type { FoundService } from './find-service.js';
import { gainsOf } from './gains.js';
import type { Generators } from './generators.js';
import type { LoadOrder, Progress } from './generator/load-run.js';
import { openLevelBook } from './level-book.js';
import type { LevelBook, LevelReport } from './level-book.js';
import { stagesOf } from './load-shape.js';
import { summariseLoad } from './load-summary.js';
import type { LoadSummary } from './load-summary.js';
import type { LoadOptions } from './options.js';
import { materialsIn, rowsMaxOf } from './scenario.js';
import { judgeThreshold } from './thresholds.js';
import type { JudgedThreshold } from './thresholds.js';

export interface LoadReport {
  baseUrl: string;
  scenario: string;
  title: string;
  loop: 'closed' | 'open';
  connectionsMax: number;
  processes: number;
  seed: number;
  summary: LoadSummary;
  /** Undefined where the scenario changes nothing. */
  levels: LevelReport | undefined;
  /** Why the levels could not be read at the end; the load itself is reported all the same. */
  unheld: string | undefined;
  /** Levels that were read in the middle of the load, and what was wrong with them. */
  probes: { count: number; problems: string[] };
  thresholds: JudgedThreshold[];
}

export interface LoadSay {
  line: (text: string) => void;
  progress: (progress: Progress) => void;
}

const drainMsMax = 15_000;
const probeEveryMs = 1_000;
const slicesMax = 600;
const problemsMax = 5;

/**
 * Reads the levels, runs the load while it probes them, reads them again, and holds all of it against what was
 * acknowledged.
 *
 * @throws where the service cannot be reached at the begin, or a read of the levels is refused
 */
export async function runLoad(
  options: LoadOptions,
  { baseUrl, catalogue, client }: FoundService,
  generators: Generators,
  say: LoadSay,
): Promise<LoadReport> {
  const { scenario, processes, seed, loop, connectionsMax } = options;
  const materials = materialsIn(scenario, catalogue.materialIds.length);
  const isWriting = rowsMaxOf(scenario) > 0;
  if (isWriting) say.line(`reading the levels of ${materials} material${materials === 1 ? '' : 's'}`);
  const book = isWriting ? await openLevelBook(client, catalogue, materials) : undefined;
  const { host, hostname, port, pathname, protocol } = new URL(baseUrl);
  const isTls = protocol === 'https:';
  // A socket takes an address of IPv6 without the brackets that it has in a URL.
  const target = hostname.replace(/^\[(.*)\]$/, '$1');
  const order = orderOf(options, { host: target, port: Number(port) || (isTls ? 443 : 80), isTls });
  const plan = { scenario, catalogue, authority: host, basePath: pathname.replace(/\/$/, ''), seed };

  const probes: LoadReport['probes'] = { count: 0, problems: [] };
  const running = generators.run(order, plan, { onProgress: say.progress });
  const ended = new AbortController();
  const probing = book && probeOn(book, generators, materials, probes, ended.signal);
  const results = await running.finally(() => ended.abort());
  await probing;
  const summary = summariseLoad(results);
  if (book) say.line('holding the levels against what was acknowledged');
  let unheld: string | undefined;
  const levels = await book?.reconcile(gainsOf(results, scenario)).catch((error: unknown) => {
    unheld = (error as Error).message;
    return undefined;
  });
  return {
    baseUrl,
    scenario: options.scenarioName,
    title: scenario.title,
    loop,
    connectionsMax,
    processes,
    seed,
    summary,
    levels,
    unheld,
    probes,
    thresholds: options.thresholds.map((threshold) => judgeThreshold(threshold, summary)),
  };
}

function orderOf(options: LoadOptions, target: LoadOrder['target']): LoadOrder {
  const { loop, connectionsMax, shape, measureMs, warmupMs, requestsMax, answerMsMax } = options;
  const stages = stagesOf(shape, { measureMs, warmupMs });
  const runMs = measureMs + warmupMs;
  // A point of the plots for each second, more of them in a short run.
  const sliceMs = Math.max(runMs < 30_000 ? 250 : 1_000, runMs / slicesMax);
  return { target, loop, connectionsMax, stages, firstDue: 0, requestsMax, answerMsMax, drainMsMax, sliceMs };
}

/** Reads a material a second, in turn, as a client beside the load would see it. */
async function probeOn(
  book: LevelBook,
  generators: Generators,
  materials: number,
  probes: LoadReport['probes'],
  ended: AbortSignal,
): Promise<void> {
  for (let material = 0; ; material = (material + 1) % materials) {
    await delay(probeEveryMs, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) return;
    try {
      const problem = await book.probe(material, () => generators.standing(material));
      probes.count += 1;
      if (problem !== undefined && probes.problems.length < problemsMax) probes.problems.push(problem);
    } catch {
      // A read may be refused as any other request of the load; only a wrong level is a problem.
    }
  }
}
