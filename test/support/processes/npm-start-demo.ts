import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Demo } from '../../../shared/standalone/demo-file.js';
import { request } from '../http/http.js';
import { until } from '../time/until.js';

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
