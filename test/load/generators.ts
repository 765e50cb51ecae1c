import type { LoadCall, LoadEvent } from './generator/main.js';
import type { LoadOrder, LoadResult, Progress } from './generator/load-run.js';
import type { RequestPlan } from './generator/plan-requests.js';
import type { Standing } from './generator/accounts.js';
import { startAnsweringProcess } from './answering-process.js';
import { compileChildren } from './compile-children.js';
import type { ScriptOf } from './compile-children.js';

export interface GeneratorHooks {
  /** A stage begins; the index after the last one means the end of the load. Told by the first of the processes. */
  onStage?: (index: number) => void;
  /** The sum of what all processes said last; its percentiles are the worst of theirs. */
  onProgress?: (progress: Progress) => void;
}

/** Processes that make load together. */
export interface Generators {
  pids: readonly number[];
  /** @throws where the service cannot be reached */
  run(order: LoadOrder, plan: RequestPlan, hooks?: GeneratorHooks): Promise<LoadResult[]>;
  /** Ends the load ahead of its time; `run` then resolves as it does at its end. */
  stop(): Promise<void>;
  standing(material: number): Promise<Standing>;
  close(): Promise<void>;
}

const callMsMax = 15_000;
/** On top of what a run takes by its order. */
const spareMs = 60_000;

/** @param scriptOf where they were compiled already */
export async function startGenerators(count: number, scriptOf?: ScriptOf): Promise<Generators> {
  const script = (scriptOf ?? (await compileChildren()))('load/generator/main.ts');
  const processes = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      startAnsweringProcess({ name: `generator ${index + 1}`, script, env: {} }),
    ),
  );
  return {
    pids: processes.map(({ pid }) => pid),
    async run(order, plan, { onStage, onProgress } = {}) {
      const latest: (Progress | undefined)[] = processes.map(() => undefined);
      const msMax = order.stages.reduce((sum, { ms }) => sum + ms, 0) + order.drainMsMax + spareMs;
      return Promise.all(
        processes.map((process, index) => {
          const call: LoadCall = {
            order: shareOf(order, index, count),
            plan: { ...plan, seed: plan.seed + index },
          };
          return process.call<LoadResult>('run', call, msMax, (event) => {
            const told = event as LoadEvent;
            if (told.type === 'progress') {
              latest[index] = told.progress;
              // Only when the first tells, which is once a round of all.
              if (index === 0) onProgress?.(sumOfProgress(latest));
            } else if (index === 0) {
              onStage?.(told.index);
            }
          });
        }),
      );
    },
    stop: async () => {
      await Promise.all(processes.map((process) => process.call('stop', undefined, callMsMax)));
    },
    standing: async (material) => {
      const all = await Promise.all(
        processes.map((process) => process.call<Standing>('standing', material, callMsMax)),
      );
      return {
        acknowledged: all.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
        open: all.reduce((sum, { open }) => sum + open, 0),
      };
    },
    close: async () => {
      await Promise.all(processes.map((process) => process.stop()));
    },
  };
}

/** The share of one of `count` processes, in whole connections; all of them together make what was ordered. */
function shareOf(order: LoadOrder, index: number, count: number): LoadOrder {
  const whole = (number: number) => Math.floor((number * (index + 1)) / count) - Math.floor((number * index) / count);
  const share = order.loop === 'closed' ? whole : (rate: number) => rate / count;
  return {
    ...order,
    connectionsMax: whole(order.connectionsMax),
    requestsMax: whole(order.requestsMax),
    // Their requests are due by turns, as those of one process are.
    firstDue: index / count,
    stages: order.stages.map((stage) => ({ ...stage, from: share(stage.from), to: share(stage.to) })),
  };
}

/** @param told what each process said last; some may not have said anything yet */
export function sumOfProgress(told: readonly (Progress | undefined)[]): Progress {
  const latest = told.filter((one) => one !== undefined);
  const sum = (figure: keyof Progress) => latest.reduce((total, one) => total + one[figure], 0);
  const most = (figure: keyof Progress) => Math.max(...latest.map((one) => one[figure]));
  return {
    atMs: most('atMs'),
    load: sum('load'),
    okASecond: sum('okASecond'),
    p50Ms: most('p50Ms'),
    p99Ms: most('p99Ms'),
    sent: sum('sent'),
    others: sum('others'),
    waiting: sum('waiting'),
  };
}
