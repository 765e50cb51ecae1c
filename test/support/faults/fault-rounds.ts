import { expect } from 'chai';
import { counting } from '../long-run/counting.js';
import type { Count, Counted, Figure } from '../long-run/counting.js';
import { createDice } from '../dice.js';
import type { Dice } from '../dice.js';
import { closeConnections } from '../http/http.js';
import type { Service } from '../processes/service.js';
import { expectNotEndedByItself } from '../processes/service-process.js';
import { startFaultRun } from './fault-run.js';
import type { FaultRun, FaultRunOptions, Judged } from './fault-run.js';
import { timesFigures } from './recovery.js';

export interface FaultRoundsOptions extends Counted, Omit<FaultRunOptions, 'title' | 'dice'> {
  /** After so many faults the round is judged; the whole of its history is held in memory until then. */
  faultsARound: number;
  /** What the p99 of the recoveries may be in a long run. */
  recoveryMsMax?: number;
  /** Figures of the test's own, for the closing table. */
  figures?: () => Figure[];
}

/** A round of faults: the run that they happen to, and how many more of them are to be made in it. */
export interface FaultRound extends FaultRun {
  left(): number;
  /** How many faults of the test were made before, in all of its rounds. */
  made(): number;
  add(faults?: number): void;
}

/** Enough that every process and every material has been used. */
const warmUpChanges = 200;

/**
 * Makes the faults of a test in rounds, on the same processes: each with a shop and a load of its own, which are judged
 * and forgotten at its end, so that a thousand kills hold no more in memory than twenty. `round` makes faults until
 * none is left.
 */
export async function runFaultRounds(
  options: FaultRoundsOptions,
  round: (run: FaultRound) => Promise<void>,
): Promise<void> {
  const { test, service, database, recoveryMsMax } = options;
  const dice = createDice(test);
  const judged: Judged[] = [];
  await counting(options, async (count) => {
    while (count.left() > 0) {
      judged.push(await runRound(options, dice, count, round));
      count.judged();
      forgetExited(service);
    }
    const rows = await ledgerRows(database);
    for (const each of judged) {
      expect(rows.get(each.shopId), `rows of shop ${String(each.shopId)}, after it was judged`).to.equal(each.rows);
    }
    const changes = judged.reduce((sum, each) => sum + each.changes, 0);
    const recoveriesMs = judged.flatMap((each) => each.recoveriesMs);
    return [
      { name: 'changes', value: changes },
      ...timesFigures('recovery', recoveriesMs, recoveryMsMax),
      ...(options.figures?.() ?? []),
    ];
  });
}

async function runRound(
  { test, service, database, faultsARound, ...options }: FaultRoundsOptions,
  dice: Dice,
  count: Count,
  round: (run: FaultRound) => Promise<void>,
): Promise<Judged> {
  const { clients, materials } = options;
  const run = await startFaultRun({
    title: test,
    service,
    database,
    dice,
    ...(clients !== undefined && { clients }),
    ...(materials !== undefined && { materials }),
  });
  await run.progress(warmUpChanges);
  const last = count.made() + faultsARound;
  await round({
    ...run,
    left: () => Math.min(count.left(), last - count.made()),
    made: () => count.made(),
    add: (faults) => {
      count.add(faults);
    },
  });
  return run.judge();
}

/**
 * A service whose processes are killed by the hundred must not keep what it knows of the dead.
 *
 * @throws where one of them has ended by itself
 */
function forgetExited(service: Service): void {
  for (const each of [...service.apis, ...service.workers]) expectNotEndedByItself(each);
  for (const api of service.apis) if (api.hasExited() && api.baseUrl !== undefined) closeConnections(api.baseUrl);
  service.apis = service.apis.filter((api) => !api.hasExited());
  service.workers = service.workers.filter((worker) => !worker.hasExited());
  service.baseUrls = service.apis.flatMap(({ baseUrl }) => baseUrl ?? []);
}

/** How many rows the ledger has of each shop: a stopped process that comes back must add none to what was judged. */
async function ledgerRows(database: FaultRunOptions['database']): Promise<Map<number, number>> {
  const { rows } = await database.raw<{ rows: { shop_id: string; count: string }[] }>(
    'SELECT shop_id, count(*) FROM ledger GROUP BY shop_id',
  );
  return new Map(rows.map(({ shop_id: shopId, count }) => [Number(shopId), Number(count)]));
}
