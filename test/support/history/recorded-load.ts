import { setTimeout as delay } from 'node:timers/promises';
import type { Dice } from '../dice.js';
import { request } from '../http/http.js';
import type { Answer } from '../http/http.js';
import { leftOf, startOwnTime } from '../time/own-time.js';
import type { TestShop } from '../shop/shop.js';
import { isExecuted } from './history.js';
import type { Attempt, History, Intent, LevelRead, SentRow } from './history.js';

export interface RecordedLoadOptions {
  /** Origins, one of which each request picks by the dice; read anew for each request, so that they may change. */
  baseUrls: () => string[];
  shop: TestShop;
  dice: Dice;
  clients: number;
  /** Whether every change has an Idempotency-Key and is repeated until it is settled. */
  keyed: boolean;
  /**
   * Whether a change that is refused, 503, is sent again until it is executed. That needs no key: a refusal says that
   * the change was not and never will be applied, and the checker holds it to that.
   */
  repeatsRefused?: boolean;
  /** Of a hundred requests, how many are reads. */
  readPercent?: number;
  /** After so many requests, reads included, a client ends by itself; without it, at `finish`. */
  requestsAClient?: number;
}

export interface RecordedLoad {
  history: History;
  /** How many changes were answered as executed so far. */
  executed(): number;
  /** How many reads were not answered 200. */
  failedReads(): number;
  /** The changes that are on their way now: sent, and not yet settled. */
  open(): ReadonlySet<Intent>;
  /** Resolves when every client has ended by itself; rejects when one met what must not be. */
  ended: Promise<unknown>;
  /** No new change from now on; resolves when every client has settled its last. */
  finish(): Promise<void>;
}

/** A change that is not settled after this long is stuck: longer than any wait, lease and restart in a row. */
const settleMsMax = 45_000;
const retryMs = 50;

/**
 * Clients that change the materials of a shop without pause, each one thing after the other, and keep all they sent and
 * heard for the ledger checker. (`npm run load`, in test/load, is for speed: it keeps sums alone.)
 */
export function startRecordedLoad(options: RecordedLoadOptions): RecordedLoad {
  const { shop, dice, clients, readPercent = 10, requestsAClient = Infinity } = options;
  const open = new Set<Intent>();
  const history: History = { intents: [], reads: [] };
  let isFinishing = false;
  let executed = 0;
  let failedReads = 0;

  async function client(): Promise<void> {
    for (let made = 0; made < requestsAClient && !isFinishing; made += 1) {
      const materialId = dice.pick(shop.materialIds);
      if (dice.below(100) < readPercent) {
        if (!(await readLevels(options, history.reads, materialId))) failedReads += 1;
        continue;
      }
      const intent = makeIntent(options, materialId, history.intents.length);
      history.intents.push(intent);
      open.add(intent);
      await settle(options, intent);
      open.delete(intent);
      if (intent.attempts.some(({ answer }) => answer !== undefined && isExecuted(answer))) executed += 1;
    }
  }
  const running = Promise.all(Array.from({ length: clients }, client));
  // It is awaited at the end of the run; a rejection before that must not end the process.
  running.catch(() => undefined);
  return {
    history,
    executed: () => executed,
    failedReads: () => failedReads,
    open: () => open,
    ended: running,
    async finish() {
      isFinishing = true;
      await running;
    },
  };
}

/** Makes one attempt; with a key, or if a refusal is to be repeated, as many as it takes to settle the intent. */
async function settle(
  { baseUrls, shop, dice, repeatsRefused = false }: RecordedLoadOptions,
  intent: Intent,
): Promise<void> {
  const passedMs = startOwnTime();
  for (;;) {
    const attempt = await attemptOnce(dice.pick(baseUrls()), shop.writeKey, intent);
    intent.attempts.push(attempt);
    if (attempt.answer !== undefined && isExecuted(attempt.answer)) return;
    if (intent.key === undefined && !(repeatsRefused && attempt.answer?.status === 503)) return;
    if ((await leftOf(settleMsMax, passedMs())) <= 0) {
      const last = attempt.answer === undefined ? 'a broken connection' : attempt.answer.text;
      throw new Error(`${intent.tag} is not settled after ${String(intent.attempts.length)} attempts; last: ${last}`);
    }
    await delay(retryMs);
  }
}

async function attemptOnce(baseUrl: string, key: string, intent: Intent): Promise<Attempt> {
  const { materialId, change } = intent;
  const path = `/v1/raw-materials/${materialId}`;
  const asked =
    change.kind === 'adjust'
      ? {
          path: `${path}/inventory`,
          body: { updates: change.rows.map((row) => ({ ...row, reference: intent.tag })) },
        }
      : { path, body: { inventoryQuantity: change.total } };
  const headers: Record<string, string> = intent.key === undefined ? {} : { 'idempotency-key': intent.key };
  const sentMs = performance.now();
  const answer = await answerOrNone(request(baseUrl, { method: 'PATCH', key, headers, ...asked }));
  return { sentMs, answer, answeredMs: answer === undefined ? Infinity : performance.now() };
}

/** Whether the levels could be read. */
async function readLevels(
  { baseUrls, shop, dice }: RecordedLoadOptions,
  reads: LevelRead[],
  materialId: string,
): Promise<boolean> {
  const sentMs = performance.now();
  const path = `/v1/raw-materials/${materialId}/inventory`;
  const answer = await answerOrNone(request(dice.pick(baseUrls()), { path, key: shop.readKey }));
  if (answer?.status !== 200) {
    await delay(retryMs);
    return false;
  }
  const { levels } = (answer.body as { data: { levels: { locationId: string; quantity: number }[] } }).data;
  reads.push({
    materialId,
    sentMs,
    answeredMs: performance.now(),
    levels: new Map(levels.map(({ locationId, quantity }) => [locationId, quantity])),
  });
  return true;
}

/** A connection that breaks is what these runs provoke; a request that hangs is a fault of the service. */
async function answerOrNone(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return undefined;
  }
}

const millionth = 1e-6;

function makeIntent({ shop, dice, keyed }: RecordedLoadOptions, materialId: string, index: number): Intent {
  const tag = `change-${String(index)}`;
  const kind = dice.below(20);
  // Each total is unlike any other, so that the ledger tells whose it is.
  const total = dice.below(2_000) + index * millionth;
  const rowCount = kind < 12 ? 1 : 1 + dice.below(5);
  // The first row is at the default location, where updates are booked as well, so that its level has every change in
  // one order. Without that the ledger could not tell what total an update met.
  const rows = Array.from({ length: rowCount }, (_, row) => {
    if (row > 0) return makeRow(shop.locationIds, dice);
    return makeRow(shop.locationIds.slice(0, 1), dice, rowCount > 1 ? 0 : undefined);
  });
  return {
    materialId,
    tag,
    change: kind === 19 ? { kind: 'update', total: Number(total.toFixed(6)) } : { kind: 'adjust', rows },
    key: keyed ? `${tag}-${String(dice.below(1e9))}` : undefined,
    attempts: [],
  };
}

function makeRow(locationIds: string[], dice: Dice, unknownChance = 0.02): SentRow {
  const locationId = dice.chance(unknownChance) ? 'nowhere' : dice.pick(locationIds);
  if (dice.chance(0.15)) return { locationId, absolute: dice.below(500_000) / 1_000 };
  return { locationId, delta: (dice.below(20_000_000) - 9_000_000) / 1_000_000 };
}
