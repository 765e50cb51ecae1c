import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { counting } from '../support/long-run/counting.js';
import { createDice } from '../support/dice.js';
import { scrape } from '../support/metrics/exposition.js';
import { request } from '../support/http/http.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { materialPath } from '../support/http/material-paths.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const limit = 25;
const windowMs = 1_000;
/** Well over what is left of a window. */
const burst = 2 * limit;
/** What must be granted in each window, told by what remains according to the `RateLimit` header. */
const everyPoint = Array.from({ length: limit }, (_, used) => limit - 1 - used);
const nextWindowMsMax = 10_000;

describe('T12: the rate limit over four API processes, REST and MCP together', () => {
  let service: Service;
  let database: Database;
  useService(
    {
      apis: 4,
      workers: 1,
      env: { RATE_LIMIT_WINDOW_SECONDS: String(windowMs / 1_000), API_INSTANCES: '4', ADMIN_PORT: '0' },
    },
    (started) => ({ service, database } = started),
  );

  it('admits exactly the limit in each window, each point once', async () => {
    const dice = createDice('T12');
    const shop = await createTestShop(database, { rateLimitPoints: limit });
    const ask = () => pointOf(dice.pick(service.baseUrls), shop, dice.chance(0.5));
    const size = sizeOf({ small: 5, long: 1_000 });
    let crossed = 0;
    let insured = 0;
    await counting({ test: 'T12', unit: 'windows', size }, async (count) => {
      while (count.left() > 0) {
        const insuredBefore = await insuredBy(service);
        // Asks alone until it is admitted: not before the window is over, so this one is the first of the next.
        let askedMs = 0;
        const first = await until(
          () => {
            askedMs = performance.now();
            return ask();
          },
          { deadlineMs: nextWindowMsMax, what: 'the next window' },
        );
        const others = await burstOf(ask);
        const granted = [first, ...others.filter((point) => point !== undefined)];
        const tookMs = performance.now() - askedMs;
        const isInsured = (await insuredBy(service)) > insuredBefore;
        if (!isInsured && tookMs < windowMs) {
          expect(granted.toSorted((one, other) => other - one)).to.deep.equal(everyPoint);
          count.add();
          count.judged();
          continue;
        }
        // The machine stood still. Either Redis was silent for so long that a process counted by its share, or windows
        // ended under the burst, and each may have granted the same point once.
        if (isInsured) insured += 1;
        else {
          crossed += 1;
          expect(mostOften(granted), `granted: ${granted.join(' ')}`).to.be.at.most(1 + Math.ceil(tookMs / windowMs));
        }
        // The last one is used up first, so that the next is seen from its beginning. At once, because one after the
        // other they may take longer than the window.
        await until(async () => (await burstOf(ask)).includes(undefined), {
          deadlineMs: nextWindowMsMax,
          what: 'the limit',
        });
      }
      return [
        { name: 'bursts over a window’s end, not counted', value: crossed },
        { name: 'bursts without an answer of Redis, not counted', value: insured },
      ];
    });
  });
});

/** How many requests the processes counted by their own share so far, because Redis did not answer. */
async function insuredBy({ apis }: Service): Promise<number> {
  const scrapes = await Promise.all(apis.map(({ adminUrl }) => scrape(adminUrl)));
  return scrapes.reduce((sum, scraped) => sum + scraped.sum('raw_materials_limiter_insured_total'), 0);
}

/** What remains according to the answer, if the request was admitted; undefined if it was refused. */
async function pointOf(baseUrl: string, shop: TestShop, isAgent: boolean): Promise<number | undefined> {
  const key = shop.readKey;
  const { status, headers, text } = await request(
    baseUrl,
    isAgent
      ? { method: 'POST', path: '/mcp', key, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }
      : { path: materialPath(shop.materialIds[0] ?? ''), key },
  );
  const [, remaining, resetSeconds] = /^"shop";r=(\d+);t=(\d+)$/.exec(String(headers['ratelimit'])) ?? [];
  if (status === 200) return Number(remaining);
  // If the machine stands still, the key may not be readable in time. That comes before the limit, and costs no point.
  if (status === 503 && headers['ratelimit'] === undefined) return pointOf(baseUrl, shop, isAgent);
  expect([status, remaining], text).to.deep.equal([429, '0']);
  expect(Number(headers['retry-after'])).to.be.at.least(Number(resetSeconds)).and.at.least(1);
  return undefined;
}

function burstOf(ask: () => Promise<number | undefined>): Promise<(number | undefined)[]> {
  return Promise.all(Array.from({ length: burst }, ask));
}

function mostOften(points: number[]): number {
  return Math.max(...points.map((point) => points.filter((other) => other === point).length));
}
