import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openConnection } from '../../load/generator/connection.js';
import type { Answer } from '../../load/generator/read-answer.js';
import { planRequests } from '../../load/generator/plan-requests.js';
import { namedScenarios } from '../../load/scenario.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import type { BenchContext } from '../context.js';
import { readTimeline } from './timeline.js';
import type { SocketEvent, Timeline } from './timeline.js';

const loader = fileURLToPath(new URL('./trace-sockets.mjs', import.meta.url));
/** The first find caches and statements cold. */
const warmupRequests = 300;
const tracedRequests = 700;
/** Between two requests, so that whatever the first leaves behind has ended. */
const pauseMs = 3;

/**
 * Follows lone requests through API, Redis, worker and Postgres, on processes of their own that note each socket's
 * traffic.
 */
export async function runHops({ stack, say }: BenchContext): Promise<Timeline> {
  say('hops of a lone request');
  const folder = await temporaryFolder();
  try {
    const design = await stack.startAnother({
      name: 'hops',
      workers: 1,
      apiEnv: { NODE_OPTIONS: `--import ${loader}`, TRACE_FILE: join(folder.path, 'api.json') },
      workerEnv: { NODE_OPTIONS: `--import ${loader}`, TRACE_FILE: join(folder.path, 'worker.json') },
    });
    const windows = await askOneByOne(stack.catalogue, design.port);
    // The processes write what they saw only when they end.
    await design.close();
    const timeline = readTimeline(windows, {
      API: readEvents(folder.path, 'api'),
      worker: readEvents(folder.path, 'worker'),
    });
    say(
      `  ${timeline.matching} of ${timeline.requests} requests took the usual way, p50 ${Math.round(timeline.totalUs)} µs`,
    );
    return timeline;
  } finally {
    await folder.remove();
  }
}

async function askOneByOne(
  catalogue: BenchContext['stack']['catalogue'],
  port: number,
): Promise<[startNs: bigint, endNs: bigint][]> {
  const next = planRequests({
    scenario: namedScenarios.HOT,
    catalogue,
    authority: '127.0.0.1',
    basePath: '/v1',
    seed: 1,
  });
  let answered: (answer: Answer | Error) => void = () => undefined;
  const connection = await openConnection({
    target: { host: '127.0.0.1', port, isTls: false },
    onAnswer: (answer) => answered(answer),
    onBroken: (error) => answered(error),
  });
  const windows: [bigint, bigint][] = [];
  try {
    for (let number = 0; number < warmupRequests + tracedRequests; number += 1) {
      const startNs = process.hrtime.bigint();
      const answer = await new Promise<Answer | Error>((resolve) => {
        answered = resolve;
        connection.send(next().message);
      });
      const endNs = process.hrtime.bigint();
      if (answer instanceof Error || !answer.allRowsOk) throw new Error('a lone request failed');
      if (number >= warmupRequests) windows.push([startNs, endNs]);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  } finally {
    connection.close();
  }
  return windows;
}

function readEvents(folder: string, name: string): SocketEvent[] {
  const events = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as [string, string, 'in' | 'out'][];
  return events.map(([ns, peer, direction]) => ({ ns: BigInt(ns), peer, direction }));
}
