import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { checkLedger } from '../../shared/database/ledger-check.js';
import { checkLists } from '../../shared/database/list-check.js';
import { sortKeys } from '../../shared/domain/list-order.js';
import { counting } from '../support/long-run/counting.js';
import { connectForTest } from '../support/database/database.js';
import { createDice, diceOf } from '../support/dice.js';
import type { Dice } from '../support/dice.js';
import { request } from '../support/http/http.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import type { TestShop } from '../support/shop/shop.js';
import { caseSeed, fuzzedIds, openFuzzShop, platformId } from './fuzz-shop.js';
import { composeRequest } from './generate/compose.js';
import type { Composed, Strain } from './generate/compose.js';
import { readPublished } from './generate/published.js';
import type { Published, PublishedOperation } from './generate/published.js';
import { judge } from './judge.js';
import { watchMemory } from './memory-watch.js';
import { sideBySide } from './side-by-side.js';
import { openWire } from './wire.js';

const size = sizeOf({ small: 14_000, long: 3_500_000 });
const connections = 8;
/** Among this many, every operation has been answered with what it is there for. */
const telling = 5_000;

describe('T9: requests made of what the service publishes', () => {
  let service: Service;
  let database: Database;
  let shop: TestShop;
  let published: Published;
  before(async () => {
    service = await startService();
    database = connectForTest(service.databaseUrl);
    shop = await openFuzzShop(database);
    published = await readPublished((asked) => request(service.baseUrls[0] ?? '', asked), shop.writeKey);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  const known: Record<string, () => readonly string[]> = {
    locationId: () => [...shop.locationIds, 'nowhere'],
    locationIds: () => [...shop.locationIds, 'nowhere'],
    variantId: () => [...fuzzedIds, platformId, 'VMAT-VAR-unknown'],
    search: () => ['', 'a', 'VMAT', '%', '_'],
    sortBy: () => [...sortKeys, 'x'],
    sortOrder: () => ['asc', 'desc', 'up'],
    cursor: () => ['MTc2ODQ2OTQwMDAwMC4z', ''],
    imageUrl: () => ['https://example.com/a.png'],
  };

  /** A case by its number: the same for the same seed. */
  function composeCase(seed: number, index: number): { composed: Composed; operation: PublishedOperation } {
    const dice = diceOf(caseSeed(seed, index));
    const operation = pickOperation(dice, published.operations);
    const strain: Strain = dice.chance(0.45) ? 'valid' : dice.chance(0.6) ? 'near' : 'wild';
    const { writeKey, readKey } = shop;
    const deps = { dice, resolve: published.resolve, known: (name: string) => known[name]?.() };
    const variantIds = [...fuzzedIds, platformId];
    return { composed: composeRequest({ ...deps, variantIds, writeKey, readKey }, operation, strain), operation };
  }

  it('are answered as the document says, with a request id, and never as a fault of ours', async () => {
    const { seed } = createDice('T9, requests');
    const [api] = service.apis;
    const answered = new Set<string>();
    const memory = watchMemory(api?.pid ?? 0, size);
    await counting({ test: 'T9', unit: 'requests', size }, async (count) => {
      await sideBySide(count, connections, () => {
        const wire = openWire(api?.port ?? 0);
        const run = async (index: number) => {
          const { composed, operation } = composeCase(seed, index);
          const { status, text } = await runCase(wire, composed, operation, `TEST_SEED=${seed} TEST_CASE=${index}`);
          if (status < 300 && !isToolError(operation, text)) answered.add(operation.name);
          memory.look(count);
        };
        return { run, close: () => wire.close() };
      });
      if (count.made() >= telling) {
        const names = published.operations.map(({ name }) => name);
        expect(
          names.filter((name) => !answered.has(name)),
          'operations that were never answered well',
        ).to.deep.equal([]);
      }
      expect((await checkLedger(database)).mismatches).to.deep.equal([]);
      expect((await checkLists(database)).mismatches).to.deep.equal([]);
      count.judged();
      return memory.figures();
    });
  });
});

/** A tool that refuses is answered with 200, and a call without an id with nothing. */
function isToolError({ name }: PublishedOperation, text: string): boolean {
  if (!name.startsWith('tool ')) return false;
  if (text === '') return true;
  const { result } = JSON.parse(text) as { result?: { isError?: boolean } };
  return result === undefined || result.isError === true;
}

/** Files are large and always the same; what runs code of ours comes more often. */
function pickOperation(dice: Dice, operations: readonly PublishedOperation[]): PublishedOperation {
  for (;;) {
    const operation = dice.pick(operations);
    const share = operation.isSecured ? 1 : operation.template.includes('{') ? 0.02 : 0.1;
    if (dice.chance(share)) return operation;
  }
}

async function runCase(
  wire: ReturnType<typeof openWire>,
  { method, path, bytes }: Composed,
  { name, output }: PublishedOperation,
  replay: string,
): Promise<{ status: number; text: string }> {
  let said = 'nothing';
  try {
    const answer = await wire.exchange(bytes, method);
    said = `${answer.status} ${answer.text.slice(0, 2_000)}`;
    const isLevels = /^\/v1\/raw-materials\/8005\/inventory(\?|$)/.test(path) || name === 'tool get_inventory';
    judge({ method, path, output, mayBeUpstream: isLevels }, answer);
    return answer;
  } catch (error) {
    const sent = JSON.stringify(bytes.toString('latin1').slice(0, 4_000));
    throw new Error(`${(error as Error).message}\n${replay} (${name})\nsent: ${sent}\nanswered: ${said}`, {
      cause: error,
    });
  }
}
