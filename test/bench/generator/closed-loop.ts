import { openConnection } from './connection.js';
import type { Answer, Connection } from './connection.js';
import { createLatencies } from './latencies.js';
import type { LatencySummary } from './latencies.js';
import type { PlannedRequest } from './plan-requests.js';

/** When each part of a round begins; told so that others can read their counters at the same moment. */
export type Phase = 'measuring' | 'measured';

export interface LoadOptions {
  port: number;
  connections: number;
  next: () => PlannedRequest;
  warmupMs: number;
  measureMs: number;
  /** For the answers to what is in flight when the window ends. */
  drainMsMax: number;
  onPhase: (phase: Phase) => void;
}

export interface LoadResult {
  /** The window as it was. */
  measuredMs: number;
  /** Full successes within the window; `latency` is theirs. */
  answered: number;
  latency: LatencySummary;
  /** Answers of the whole run other than full successes, by status. */
  failures: Record<string, number>;
  /** Units acknowledged in the whole run, by material, for each row of a request. */
  acknowledged: [material: number, units: number][];
}

interface Run {
  phase: 'warming' | Phase;
  inFlight: number;
  answered: number;
  failures: Record<string, number>;
  acknowledged: Map<number, number>;
}

/**
 * A closed loop: each connection sends its next request when the last was answered, so it shows throughput, and hides
 * what would queue up in front of a slow service.
 *
 * @throws where a connection breaks, or an answer does not come: a round with a lost answer proves nothing
 */
export async function runClosedLoop(options: LoadOptions): Promise<LoadResult> {
  const { port, connections, next, warmupMs, measureMs, drainMsMax, onPhase } = options;
  const run: Run = { phase: 'warming', inFlight: 0, answered: 0, failures: {}, acknowledged: new Map() };
  const latencies = createLatencies();
  const opened: Connection[] = [];
  const timers: NodeJS.Timeout[] = [];
  let startedMs = 0;
  let measuredMs = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      const lanes = Array.from({ length: connections }, () => {
        const lane = createLane(run, next, (ms) => {
          if (run.phase !== 'measuring') return;
          run.answered += 1;
          latencies.record(ms);
        });
        const onAnswer = (answer: Answer) => {
          lane.take(answer);
          if (run.phase !== 'measured') lane.send();
          else if (run.inFlight === 0) resolve();
        };
        return openConnection({ port, onAnswer, onBroken: reject }).then((connection) => {
          opened.push(connection);
          return { start: () => lane.start(connection) };
        });
      });
      void Promise.all(lanes).then((ready) => {
        timers.push(setTimeout(beginWindow, warmupMs));
        for (const lane of ready) lane.start();
      }, reject);
      const beginWindow = () => {
        run.phase = 'measuring';
        startedMs = performance.now();
        onPhase('measuring');
        timers.push(setTimeout(endWindow, measureMs));
      };
      const endWindow = () => {
        run.phase = 'measured';
        measuredMs = performance.now() - startedMs;
        onPhase('measured');
        const late = () =>
          reject(new Error(`${run.inFlight} requests had no answer ${drainMsMax} ms after the window`));
        timers.push(setTimeout(late, drainMsMax));
      };
    });
  } finally {
    timers.forEach(clearTimeout);
    for (const connection of opened) connection.close();
  }
  const { answered, failures, acknowledged } = run;
  return { measuredMs, answered, latency: latencies.summary(), failures, acknowledged: [...acknowledged] };
}

interface Lane {
  start(connection: Connection): void;
  send(): void;
  take(answer: Answer): void;
}

function createLane(run: Run, next: () => PlannedRequest, onSuccess: (ms: number) => void): Lane {
  let connection: Connection | undefined;
  let asked: PlannedRequest | undefined;
  let sentMs = 0;
  const lane: Lane = {
    start: (opened) => {
      connection = opened;
      lane.send();
    },
    send: () => {
      asked = next();
      run.inFlight += 1;
      sentMs = performance.now();
      connection?.send(asked.message);
    },
    take: ({ status, allRowsOk }) => {
      const ms = performance.now() - sentMs;
      run.inFlight -= 1;
      if (asked === undefined) return;
      const { material, delta } = asked;
      const isSuccess = material === undefined ? status === 200 : allRowsOk;
      if (!isSuccess) {
        // A refusal is quick, and must not make a design look fast.
        run.failures[status] = (run.failures[status] ?? 0) + 1;
        return;
      }
      onSuccess(ms);
      if (material !== undefined) run.acknowledged.set(material, (run.acknowledged.get(material) ?? 0) + delta);
    },
  };
  return lane;
}
