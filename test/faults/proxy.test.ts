import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { addOne, totalOf } from '../support/shop/change.js';
import type { Dice } from '../support/dice.js';
import { runFaultRounds } from '../support/faults/fault-rounds.js';
import type { Fault } from '../support/faults/fault.js';
import type { FaultProxy } from '../support/faults/fault-proxy.js';
import type { History } from '../support/history/history.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { linkNames, startProxiedService } from '../support/faults/proxied-service.js';
import type { LinkName, ProxiedService } from '../support/faults/proxied-service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const kinds = ['partition', 'half-open', 'slow', 'reset'] as const;
type Kind = (typeof kinds)[number];

/** Each link meets each kind once a round, in an order that the dice choose. */
const faultsARound = linkNames.length * kinds.length;
/** Postgres' CommandComplete of a COMMIT: what the worker must read to know that it has committed. */
const committed = Buffer.from('C\0\0\0\x0bCOMMIT\0', 'latin1');
/** How long a fault lasts: most are short, and some longer than every lease, silence and statement timeout. */
const lastsMs = [
  { percent: 70, from: 20, below: 400 },
  { percent: 20, from: 400, below: 1_500 },
  { percent: 10, from: 2_500, below: 5_500 },
];
const wholeReadBytesMax = 4_000;
const strikesMsMax = 20_000;
/** Binds in the long run: the longest fault, a whole wait and its grace, and a silence that must be noticed first. */
const answerMsMax = 14_000;
const afterwards = 20;

describe('T8: faults of each link', () => {
  let proxied: ProxiedService;
  before(async () => {
    proxied = await startProxiedService({ apis: 2, workers: 2, env: { WAIT_MS: '5000' } });
  });
  after(() => proxied.stop());

  it('under load: nothing acknowledged is lost, nothing is applied twice, and no request is stuck', async () => {
    const { service, database } = proxied;
    const size = sizeOf({ small: faultsARound, long: 5_000 });
    let slowestMs = 0;
    const figures = () => [{ name: 'slowest answer (ms)', value: Math.round(slowestMs), most: answerMsMax }];
    const options = { test: 'T8', unit: 'faults', size, service, database, faultsARound, figures };
    await runFaultRounds(options, async (run) => {
      const plan = shuffled(
        linkNames.flatMap((link) => kinds.map((kind) => ({ link, kind }))),
        run.dice,
      );
      for (const { link, kind } of plan.slice(0, run.left())) {
        run.noteFault();
        await strike(proxied.links[link], faultOf(link, kind, run.dice), run.dice);
        run.add();
        await run.progress(afterwards);
      }
      await run.recovered();
      slowestMs = Math.max(slowestMs, slowestOf(run.load.history), slowestOf(run.unkeyed.history));
    });
    expect([...service.apis, ...service.workers].filter((each) => each.hasExited())).to.deep.equal([]);
  });

  it("a reset in the middle of a COMMIT's reply leaves the change applied once, and answered", async () => {
    const { service, database, links } = proxied;
    const shop = await createTestShop(database);
    for (let round = 1; round <= 3; round += 1) {
      // Cuts the first attempt, and up to two of those that follow and find it on record.
      const fault: Fault = { kind: 'reset-at', direction: 'toClient', pattern: committed, times: round };
      await Promise.all(links['worker–Postgres'].map((proxy) => proxy.inject(fault)));
      const answer = await addOne(service.baseUrls[0] ?? '', shop, { idempotencyKey: `cut-${String(round)}` });
      expect(answer.status, answer.text).to.equal(200);
      const struck = links['worker–Postgres'].reduce((sum, proxy) => sum + proxy.struck(), 0);
      expect(struck).to.be.at.least(1);
      await Promise.all(links['worker–Postgres'].map((proxy) => proxy.heal()));
      expect(await totalOf(database, shop)).to.equal(round);
    }
  });
});

/** The longest that an answer took, in milliseconds. */
function slowestOf({ intents }: History): number {
  const answered = intents.flatMap(({ attempts }) => attempts.filter(({ answer }) => answer !== undefined));
  return answered.reduce((slowest, { sentMs, answeredMs }) => Math.max(slowest, answeredMs - sentMs), 0);
}

/** Breaks the link of one process, or of all of its kind, for as long as the dice say, once the fault has struck. */
async function strike(proxies: FaultProxy[], fault: Fault, dice: Dice): Promise<void> {
  const hit = dice.chance(0.3) ? proxies : [dice.pick(proxies)];
  const { from, below } = lasting(dice);
  // An idle link may have no connection for a moment, and a reset or a lost end needs one to strike.
  const isUsed = () => hit.some((proxy) => proxy.open() > 0);
  await until(isUsed, { deadlineMs: strikesMsMax, what: 'a connection to break' });
  await Promise.all(hit.map((proxy) => proxy.inject(fault)));
  const struck = () => hit.some((proxy) => proxy.struck() > 0);
  await until(struck, { deadlineMs: strikesMsMax, what: `a fault to strike: ${JSON.stringify(fault)}` });
  await delay(from + dice.below(below - from));
  await Promise.all(hit.map((proxy) => proxy.heal()));
}

function lasting(dice: Dice): { from: number; below: number } {
  let left = dice.below(100);
  for (const range of lastsMs) {
    if (left < range.percent) return range;
    left -= range.percent;
  }
  throw new RangeError('the percentages do not add up');
}

function faultOf(link: LinkName, kind: Kind, dice: Dice): Fault {
  const direction = dice.pick(['toServer', 'toClient'] as const);
  switch (kind) {
    case 'partition':
      return dice.chance(0.5) ? { kind: 'hold' } : { kind: 'hold', direction };
    case 'half-open':
      // A client of the API whose server is gone waits for as long as it likes: there is nothing of ours to see.
      return { kind: 'half-open', gone: link === 'client–API' ? 'client' : dice.pick(['client', 'server'] as const) };
    case 'slow':
      return { kind: 'slow', delayMs: 20 + dice.below(200), bytesPerSecond: 20_000 + dice.below(200_000) };
    case 'reset':
      return resetOf(link, direction, dice);
  }
}

function resetOf(link: LinkName, direction: 'toServer' | 'toClient', dice: Dice): Fault {
  if (link === 'worker–Postgres' && dice.chance(0.5)) {
    return { kind: 'reset-at', direction: 'toClient', pattern: committed, times: 1 + dice.below(4) };
  }
  if (dice.chance(0.3)) return { kind: dice.pick(['reset', 'refuse'] as const) };
  return { kind: 'reset-after', direction, bytes: 1 + dice.below(wholeReadBytesMax), times: 1 + dice.below(4) };
}

function shuffled<T>(list: T[], dice: Dice): T[] {
  const rest = [...list];
  return list.map(() => {
    const [taken] = rest.splice(dice.below(rest.length), 1);
    return taken as T;
  });
}
