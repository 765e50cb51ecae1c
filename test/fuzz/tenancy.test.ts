import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { checkLedger } from '../../shared/database/ledger-check.js';
import { counting } from '../support/long-run/counting.js';
import { connectForTest } from '../support/database/database.js';
import { createDice, diceOf } from '../support/dice.js';
import type { Dice } from '../support/dice.js';
import { request } from '../support/http/http.js';
import type { Answer } from '../support/http/http.js';
import { report, sizeOf } from '../support/long-run/long-run.js';
import { platformTokenKey } from '../support/shop/platform.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { caseSeed } from './fuzz-shop.js';
import { composeRequest } from './generate/compose.js';
import type { Composed } from './generate/compose.js';
import { readPublished } from './generate/published.js';
import type { Published, PublishedOperation } from './generate/published.js';
import { judge } from './judge.js';
import { sideBySide } from './side-by-side.js';
import { nobodysIds, openMarkedShop, sharedIds, sharedPlatformId } from './two-shops.js';
import type { MarkedShop } from './two-shops.js';
import { openWire } from './wire.js';
import type { Wire } from './wire.js';

const size = sizeOf({ small: 2_000, long: 200_000 });
/** Pairs for each operation, each shop and each of the other's ids. */
const pairsEach = 3;
/** Among this many, every operation has been answered with what it is there for, to both shops. */
const telling = 1_500;
const lanes = 6;

describe('T10: two shops with the same ids', () => {
  let service: Service;
  let database: Database;
  let shops: [MarkedShop, MarkedShop];
  let published: Published;
  before(async () => {
    service = await startService({ env: { PLATFORM_TOKEN_KEY: platformTokenKey } });
    database = connectForTest(service.databaseUrl);
    shops = [
      await openMarkedShop(database, {
        mark: 'OwlQz7',
        ownIds: ['VMAT-OWLONLY-1', '71005000000000071005'],
        figure: 3.141593,
      }),
      await openMarkedShop(database, {
        mark: 'FoxVk3',
        ownIds: ['VMAT-FOXONLY-1', '72005000000000072005'],
        figure: 2.718282,
      }),
    ];
    const ask = request.bind(undefined, service.baseUrls[0] ?? '');
    published = await readPublished(ask, shops[0].writeKey);
    for (const shop of shops) {
      for (const id of [...sharedIds, ...shop.ownIds.slice(0, 1)]) {
        const updates = [{ locationId: '1001', absolute: 5, reason: shop.mark }];
        const path = `/v1/raw-materials/${id}/inventory`;
        expect((await ask({ method: 'PATCH', path, key: shop.writeKey, body: { updates } })).status).to.equal(200);
      }
    }
  });
  after(async () => {
    await Promise.all(shops.map((shop) => shop.stopPlatform()));
    await database.destroy();
    await service.stop();
  });

  /** The operations on the shops' own things: everything behind a key. */
  const operations = () => published.operations.filter(({ isSecured }) => isSecured);
  const named = ({ name, parameters, body }: PublishedOperation) =>
    parameters.some((parameter) => parameter.name === 'variantId') ||
    (name.startsWith('tool ') && JSON.stringify(body?.schema).includes('"variantId"'));

  /** A request that the document takes, by one shop, about one material; the same dice make the same request. */
  function compose(dice: Dice, operation: PublishedOperation, by: MarkedShop, variantId: string): Composed {
    const { texts, locationIds, writeKey, readKey } = by;
    const own: Record<string, readonly string[]> = {
      variantId: [variantId],
      locationId: locationIds,
      locationIds,
      imageUrl: [`https://example.com/${by.mark}`],
      requestId: ['00000000-0000-4000-8000-000000000000', ...shops.flatMap(({ requestIds }) => requestIds)],
    };
    for (const name of ['productName', 'variantName', 'sku', 'vendor', 'specifications', 'reason', 'reference'])
      own[name] = texts;
    const known = (name: string) => own[name];
    return composeRequest(
      { dice, resolve: published.resolve, known, variantIds: [variantId], isOnlyKnown: true, writeKey, readKey },
      operation,
      'valid',
    );
  }

  async function send(wire: Wire, operation: PublishedOperation, composed: Composed, by: MarkedShop): Promise<Answer> {
    const answer = await wire.exchange(composed.bytes, composed.method);
    const { method, path } = composed;
    judge({ method, path, output: operation.output, mayBeUpstream: false }, answer);
    const [other] = shops.filter((shop) => shop !== by);
    const said = JSON.stringify(answer.headers) + answer.text;
    const sent = composed.bytes.toString('utf8');
    const leaks = [...(other?.secrets ?? []), ...(other?.ownIds ?? [])].filter(
      (secret) => holds(said, secret) && !holds(sent, secret),
    );
    expect(leaks, `${by.mark} is shown what is the other shop's\nsent: ${sent}\nanswered: ${said}`).to.deep.equal([]);
    if (operation.changes) by.requestIds.push(String(answer.headers['x-request-id']));
    if (by.requestIds.length > 3) by.requestIds.shift();
    return answer;
  }

  it('have none of each other’s ids: on every route and tool, what is another’s is answered as what is nobody’s', async () => {
    const { seed } = createDice('T10, ids');
    const wire = openWire(service.apis[0]?.port ?? 0);
    const about = operations().filter(named);
    expect(about.length, 'operations about one material').to.be.above(8);
    let index = 0;
    for (const [at, by] of shops.entries()) {
      const theirs = shops[1 - at]?.ownIds ?? [];
      const before = await rowsOf(database, shops[1 - at]!);
      for (const operation of about) {
        for (let pair = 0; pair < pairsEach * theirs.length; pair += 1) {
          const kind = pair % theirs.length;
          const answers: Answer[] = [];
          index += 1;
          for (const id of [theirs[kind] ?? '', nobodysIds[kind] ?? '']) {
            const composed = compose(diceOf(caseSeed(seed, index)), operation, by, id);
            answers.push(await send(wire, operation, composed, by));
          }
          const [foreign, missing] = answers.map(withoutTraces);
          expect(foreign, `${operation.name}, TEST_SEED=${seed}`).to.deep.equal(missing);
          expectRefused(operation, answers[0]!);
        }
      }
      expect(await rowsOf(database, shops[1 - at]!)).to.deep.equal(before);
    }
    wire.close();
    report({ test: 'T10', unit: 'pairs of foreign and missing', count: index, failures: 0 });
  });

  it('never see each other’s texts, keys or figures, and never write into each other', async () => {
    const { seed } = createDice('T10, texts');
    const good = new Set<string>();
    await counting({ test: 'T10', unit: 'requests', size }, async (count) => {
      await sideBySide(count, lanes, () => {
        const wire = openWire(service.apis[0]?.port ?? 0);
        const run = async (index: number) => {
          const dice = diceOf(caseSeed(seed, index));
          const by = dice.pick(shops);
          const operation = dice.pick(operations());
          const ids = [...sharedIds, ...sharedIds, sharedPlatformId, ...shops.flatMap(({ ownIds }) => ownIds)];
          const answer = await send(wire, operation, compose(dice, operation, by, dice.pick(ids)), by);
          if (answer.status === 200 && !isToolError(answer)) good.add(`${by.mark} ${operation.name}`);
        };
        return { run, close: () => wire.close() };
      });
      if (count.made() >= telling) {
        const all = shops.flatMap(({ mark }) => operations().map(({ name }) => `${mark} ${name}`));
        expect(
          all.filter((one) => !good.has(one)),
          'never answered well',
        ).to.deep.equal([]);
      }
      for (const [at, shop] of shops.entries()) {
        const rows = JSON.stringify(await rowsOf(database, shop));
        expect(rows).to.include(shop.mark);
        expect(shops[1 - at]!.secrets.filter((secret) => holds(rows, secret))).to.deep.equal([]);
      }
      expect((await checkLedger(database)).mismatches).to.deep.equal([]);
      count.judged();
      return [];
    });
  });
});

/**
 * Whether a text has what is a shop's own. A word counts anywhere; a figure or an id of digits counts only as a whole
 * number, because some of the millions of random figures and UUIDs in a long run's answers contain the same digits.
 */
function holds(text: string, secret: string): boolean {
  if (!/^[\d.]+$/.test(secret)) return text.includes(secret);
  return new RegExp(`(?<![\\da-f.])${secret.replace('.', '\\.')}(?![\\da-f.])`).test(text);
}

const tablesOfShops = ['materials', 'stock', 'levels', 'locations', 'ledger', 'operations', 'bills', 'bill_components'];

/** All that a shop has, as text, but for its keys. */
async function rowsOf(database: Database, { shopId }: MarkedShop): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {};
  for (const table of tablesOfShops) {
    const found = await database.raw<{ rows: { row: string }[] }>(
      `SELECT t::text AS row FROM ${table} t WHERE shop_id = ? ORDER BY 1`,
      [shopId],
    );
    rows[table] = found.rows.map(({ row }) => row);
  }
  return rows;
}

/** An answer without what differs from request to request: its id, the time, and what is left of the limit. */
function withoutTraces({ status, headers, text }: Answer): unknown {
  const id = String(headers['x-request-id']);
  const { date: _date, ratelimit: _ratelimit, ...others } = headers;
  return { status, headers: { ...others, 'x-request-id': '' }, text: text.replaceAll(id, '') };
}

function isToolError({ body }: Answer): boolean {
  return (body as { result?: { isError?: boolean } } | undefined)?.result?.isError === true;
}

/** No answer to a request about another's material is a good one. */
function expectRefused({ name }: PublishedOperation, answer: Answer): void {
  const isRefused = answer.status >= 400 || isToolError(answer);
  expect(isRefused, `${name}: ${answer.text}`).to.equal(true);
}
