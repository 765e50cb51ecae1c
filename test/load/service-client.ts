import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { toMicros } from '../../shared/domain/quantity.js';

/** What the load run asks beside its load: what is there, and what the levels are. */
export interface ServiceClient {
  /** Ids of virtual materials, the first so many. */
  listMaterials(max: number): Promise<string[]>;
  /** In millionths, by location; a location that is not listed holds nothing. */
  readLevels(materialId: string): Promise<Map<string, number>>;
  close(): Promise<void>;
}

export interface ServiceClientOptions {
  baseUrl: string;
  key: string;
  /** Told when an answer has to be waited for. */
  say: (line: string) => void;
}

const connections = 8;
const pageSizeMax = 1_000;
const answerMsMax = 30_000;
const attemptsMax = 3;
/** A window of the limiter is a minute unless it is set otherwise. */
const retryAfterSecondsMax = 65;

/** Reads wait as `Retry-After` says: the levels must be read even after a load that used up the shop's budget. */
export function createServiceClient({ baseUrl, key, say }: ServiceClientOptions): ServiceClient {
  const { origin, pathname } = new URL(baseUrl);
  const pool = new Pool(origin, { connections, headersTimeout: answerMsMax, bodyTimeout: answerMsMax });
  const basePath = pathname.replace(/\/$/, '');

  async function ask(path: string) {
    try {
      const { body, ...answer } = await pool.request({
        method: 'GET',
        path,
        headers: { authorization: `Bearer ${key}` },
      });
      return { ...answer, text: await body.text() };
    } catch (cause) {
      // Where a name has several addresses, the message is empty and the code tells.
      const { message, code } = cause as NodeJS.ErrnoException;
      throw new Error(`No answer from ${baseUrl}: ${message || String(code)}`, { cause });
    }
  }

  async function get<T>(path: string): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const { statusCode, headers, text } = await ask(basePath + path);
      if (statusCode === 200) return (JSON.parse(text) as { data: T }).data;
      const seconds = Number(headers['retry-after']);
      const isPassing = (statusCode === 429 || statusCode === 503) && seconds <= retryAfterSecondsMax;
      if (!isPassing || attempt === attemptsMax) {
        throw new Error(`GET ${basePath}${path} was answered ${statusCode}: ${text.slice(0, 300)}`);
      }
      say(`a read was answered ${statusCode}; asking again in ${seconds} s`);
      await delay(seconds * 1_000);
    }
  }

  return {
    async listMaterials(max) {
      const ids: string[] = [];
      for (let page = 1; ids.length < max; page += 1) {
        const query = `originFilter=virtual&pageSize=${Math.min(max, pageSizeMax)}&page=${page}`;
        const { items } = await get<{ items: { id: string }[] }>(`/raw-materials?${query}`);
        ids.push(...items.map(({ id }) => id));
        if (items.length < Math.min(max, pageSizeMax)) break;
      }
      return ids.slice(0, max);
    },
    async readLevels(materialId) {
      const path = `/raw-materials/${encodeURIComponent(materialId)}/inventory`;
      const { levels } = await get<{ levels: { locationId: string; quantity: number }[] }>(path);
      return new Map(levels.map(({ locationId, quantity }) => [locationId, toMicros(quantity)]));
    },
    close: () => pool.destroy(),
  };
}
