import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { createDice } from '../dice.js';
import type { Dice } from '../dice.js';
import type { Intent } from '../history/history.js';
import { checkHistory } from '../history/ledger-checker.js';
import { startRecordedLoad } from '../history/recorded-load.js';
import type { RecordedLoad } from '../history/recorded-load.js';
import { pipelineKeys } from '../redis/redis-keys.js';
import type { Service } from '../processes/service.js';
import { createTestShop } from '../shop/shop.js';
import type { TestShop } from '../shop/shop.js';
import { until } from '../time/until.js';
import { recoveriesOf } from './recovery.js';

/** A run of clients over a service to which things happen meanwhile. */
export interface FaultRun {
  dice: Dice;
  shop: TestShop;
  load: RecordedLoad;
  /** The clients that make one attempt. */
  unkeyed: RecordedLoad;
  /** Resolves when so many more changes have been executed: the service works, whatever happened to it. */
  progress(changes: number): Promise<void>;
  /** Notes that a fault happens now. */
  noteFault: () => void;
  /** Resolves when every change that is on its way now has its executed answer. */
  recovered(): Promise<void>;
  /** Ends the load and holds what every client was told against the ledger. */
  judge(): Promise<Judged>;
}

/** What was found of a run in which nothing was wrong. */
export interface Judged {
  shopId: number;
  changes: number;
  /** Rows of the shop in the ledger. */
  rows: number;
  /** Of the faults that were noted; see recovery.ts. */
  recoveriesMs: number[];
}

export interface FaultRunOptions {
  title: string;
  service: Service;
  database: Database;
  /** Those of the test where it has several runs; else a run throws its own. */
  dice?: Dice;
  clients?: number;
  materials?: number;
}

/** A wait, a lease and a restart in a row. */
const progressMsMax = 40_000;
const idleMsMax = 15_000;
/** Of all clients; see `startUnkeyed`. */
const unkeyedClients = 8;

export async function startFaultRun({
  title,
  service,
  database,
  dice = createDice(title),
  clients = 32,
  materials = 16,
}: FaultRunOptions): Promise<FaultRun> {
  const faultsMs: number[] = [];
  const shop = await createTestShop(database, { materials });
  const baseUrls = () => service.apis.flatMap((api) => (api.hasExited() ? [] : (api.baseUrl ?? [])));
  const load = startRecordedLoad({ baseUrls, shop, dice, clients: clients - unkeyedClients, keyed: true });
  const unkeyed = await startUnkeyed({ database, dice, baseUrls });
  const progress = async (changes: number) => {
    const target = load.executed() + changes;
    const reached = until(() => load.executed() >= target, {
      deadlineMs: progressMsMax,
      what: () => `${String(changes)} changes more; of ${String(target)} there are ${String(load.executed())}`,
    });
    // If a client met what must not be, its error says more than that the target was not reached.
    await Promise.race([reached, load.ended]);
  };
  return {
    dice,
    shop,
    load,
    unkeyed: unkeyed.load,
    progress,
    noteFault: () => void faultsMs.push(performance.now()),
    async recovered() {
      const hit = [...load.open()];
      await Promise.race([load.ended, untilSettled(load, hit)]);
    },
    async judge() {
      await Promise.all([load.finish(), unkeyed.judge()]);
      const verdict = await checkHistory(database, shop, load.history);
      expect(verdict.faults.join('\n'), `TEST_SEED=${String(dice.seed)}`).to.equal('');
      expect(verdict.operations).to.be.greaterThan(0);
      await until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
        deadlineMs: idleMsMax,
        what: 'every material to be idle, without a key in Redis',
      });
      const changes = load.history.intents.length;
      return { shopId: shop.shopId, changes, rows: verdict.rows, recoveriesMs: recoveriesOf(load.history, faultsMs) };
    },
  };
}

/**
 * Beside the clients that repeat a change by its key until it is settled, some make one attempt, on a shop of their
 * own: a 503 that was a lie then stays one, whereas a key would find what was applied and answer with it.
 */
async function startUnkeyed({
  database,
  dice,
  baseUrls,
}: {
  database: Database;
  dice: Dice;
  baseUrls: () => string[];
}) {
  const shop = await createTestShop(database, { materials: unkeyedClients });
  const load = startRecordedLoad({ baseUrls, shop, dice, clients: unkeyedClients, keyed: false });
  return {
    load,
    async judge() {
      await load.finish();
      const { faults } = await checkHistory(database, shop, load.history);
      expect(faults.join('\n'), `without keys, TEST_SEED=${String(dice.seed)}`).to.equal('');
    },
  };
}

async function untilSettled(load: RecordedLoad, hit: Intent[]): Promise<void> {
  const left = () => hit.filter((intent) => load.open().has(intent));
  await until(() => left().length === 0, {
    deadlineMs: progressMsMax,
    what: () =>
      `an executed answer to ${left()
        .map(({ tag }) => tag)
        .join(', ')}`,
  });
}
