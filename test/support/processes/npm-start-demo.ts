import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Demo } from '../../../shared/standalone/demo-file.js';
import { request } from '../http/http.js';
import { untilRefused } from '../http/until-refused.js';
import { scrape } from '../metrics/exposition.js';
import { until } from '../time/until.js';
import type { Started } from './npm-start.js';

/** A change of the demo's first material; its status. */
export async function adjust({ baseUrl, writeKey, virtualMaterialIds, locationIds }: Demo): Promise<number> {
  const path = `/v1/raw-materials/${virtualMaterialIds[0] ?? ''}/inventory`;
  const body = { updates: [{ locationId: locationIds[0], delta: 5 }] };
  const answer = await request(baseUrl, { method: 'PATCH', path, key: writeKey, body });
  return answer.status;
}

/** What that changes. */
export async function levelOf({ baseUrl, readKey, virtualMaterialIds, locationIds }: Demo): Promise<number> {
  const path = `/v1/raw-materials/${virtualMaterialIds[0] ?? ''}/inventory?locationIds=${locationIds[0] ?? ''}`;
  const answer = await request(baseUrl, { path, key: readKey });
  const { data } = answer.body as { data: { levels: { quantity: number }[] } };
  return data.levels[0]?.quantity ?? NaN;
}

/** The process ids of a data folder: of Postgres and Redis, and of the API and the workers. */
export async function processesOf(dataDir: string): Promise<{ servers: number[]; service: number[] }> {
  const postgres = Number.parseInt(await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8'), 10);
  const redis = Number.parseInt(await readFile(join(dataDir, 'redis', 'redis.pid'), 'utf8'), 10);
  const logs = await readdir(join(dataDir, 'logs'));
  const service = await Promise.all(logs.map((name) => newestPidIn(join(dataDir, 'logs', name))));
  return { servers: [postgres, redis], service };
}

/** The process that wrote the newest line of a log; its first may be written just after it says that it is ready. */
export async function newestPidIn(log: string): Promise<number> {
  let newest: number | undefined;
  const look = async () => {
    const pids = (await readFile(log, 'utf8')).matchAll(/"pid":(\d+)/g);
    newest = [...pids].map((match) => Number(match[1])).at(-1);
    return newest !== undefined;
  };
  await until(look, { deadlineMs: 10_000, what: `a line in ${log}` });
  return newest ?? NaN;
}

/**
 * Stops it (SIGINT) while its workers stand still with as many changes; they go on once its API takes no more
 * connections. Returns the statuses of the changes.
 */
export async function stopWithChangesInHand(started: Started, dataDir: string, count: number): Promise<number[]> {
  const demo = await started.ready();
  const workers = await Promise.all(
    ['worker-1', 'worker-2'].map((name) => newestPidIn(join(dataDir, 'logs', `${name}.log`))),
  );
  for (const worker of workers) process.kill(worker, 'SIGSTOP');
  const asked = Array.from({ length: count }, () => adjust(demo));
  const inHand = async () => (await scrape(demo.adminUrl)).sum('raw_materials_writes_in_flight');
  await until(async () => (await inHand()) === count, { deadlineMs: 5_000, what: 'the API to have the changes' });
  started.kill('SIGINT');
  await untilRefused(Number(new URL(demo.baseUrl).port), 5_000);
  for (const worker of workers) process.kill(worker, 'SIGCONT');
  return Promise.all(asked);
}
