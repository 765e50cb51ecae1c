import { expect } from 'chai';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import { createDice } from './dice.js';
import type { Dice } from './dice.js';
import { request } from './http.js';
import { checkHistory } from './ledger-checker.js';
import { startLoad } from './load.js';
import type { Load } from './load.js';
import { pipelineKeys } from './redis-keys.js';
import type { Service } from './service.js';
import { createTestShop } from './shop.js';
import type { TestShop } from './shop.js';
import { until } from './until.js';

/** A run of clients over a service to which things happen meanwhile. */
export interface FaultRun {
  dice: Dice;
  shop: TestShop;
  load: Load;
  /** Resolves when so many more changes have been executed: the service works, whatever happened to it. */
  progress(changes: number): Promise<void>;
  /** Ends the load and holds what every client was told against the ledger. */
  judge(): Promise<void>;
}

export interface FaultRunOptions {
  title: string;
  service: Service;
  database: Database;
  clients?: number;
  materials?: number;
}

/** A wait, a lease and a restart in a row. */
const progressMsMax = 40_000;
const idleMsMax = 15_000;
const readyMsMax = 20_000;

export async function startFaultRun({
  title,
  service,
  database,
  clients = 32,
  materials = 16,
}: FaultRunOptions): Promise<FaultRun> {
  const dice = createDice(title);
  const shop = await createTestShop(database, { materials });
  const baseUrls = () => service.apis.flatMap((api) => (api.hasExited() ? [] : (api.baseUrl ?? [])));
  const load = startLoad({ baseUrls, shop, dice, clients, keyed: true });
  const progress = async (changes: number) => {
    const target = load.executed() + changes;
    await until(() => load.executed() >= target, {
      deadlineMs: progressMsMax,
      what: () => `${String(changes)} changes more; of ${String(target)} there are ${String(load.executed())}`,
    });
  };
  return {
    dice,
    shop,
    load,
    progress,
    async judge() {
      await load.finish();
      const verdict = await checkHistory(database, shop, load.history);
      expect(verdict.faults.join('\n'), `TEST_SEED=${String(dice.seed)}`).to.equal('');
      expect(verdict.operations).to.be.greaterThan(0);
      await until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
        deadlineMs: idleMsMax,
        what: 'every material to be idle, without a key in Redis',
      });
    },
  };
}

/** Resolves when every living API process says that it can serve. */
export async function untilServing(service: Service): Promise<void> {
  for (const api of service.apis) {
    if (api.hasExited() || api.baseUrl === undefined) continue;
    const { baseUrl } = api;
    await until(async () => (await request(baseUrl, { path: '/readyz' })).status === 200, {
      deadlineMs: readyMsMax,
      what: `${api.name} to be ready; it said:\n${api.logs().slice(-20).join('\n')}`,
    });
  }
}

/** The test's own connection, which must survive that Postgres goes away. */
export function connectForTest(url: string): Database {
  return connectDatabase({ url, poolMax: 2, applicationName: 'test' });
}
