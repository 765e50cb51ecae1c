import { expect } from 'chai';
import fc from 'fast-check';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { checkAnswer, steadyData } from './check-answer.js';
import { expectHistory, expectLevels, expectList, expectMaterial, modelSortKeys } from './expect-reads.js';
import type { HistorySent, ListSent } from './expect-reads.js';
import { maybe } from './maybe.js';
import type { ShopModel } from './stock-model.js';
import { searched, texts } from './texts.js';
import { command, variantIdAt, variantIndexMax } from './world.js';
import type { Command, LiveShop } from './world.js';

const variant = fc.oneof({ weight: 6, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(variantIndexMax) });
const places = ['1001', '1002', '1003', 'nowhere'];

const materialCommand = fc.tuple(variant, fc.boolean()).map(([index, withConnections]) =>
  command(`read material ${String(index)} ${String(withConnections)}`, async (model, real) => {
    const id = variantIdAt(model, index);
    const path = `${materialPath(id)}${withConnections ? '?includeConnections=true' : ''}`;
    checkAnswer(path, await read(real, path), expectMaterial(model, id, withConnections));
  }),
);

const levelsCommand = fc
  .tuple(variant, fc.option(fc.array(fc.constantFrom(...places), { minLength: 1, maxLength: 5 }), { nil: undefined }))
  .map(([index, locationIds]) =>
    command(`read levels ${String(index)} ${JSON.stringify(locationIds)}`, async (model, real) => {
      const id = variantIdAt(model, index);
      const path = `${inventoryPath(id)}?${(locationIds ?? []).map((at) => `locationIds=${at}`).join('&')}`;
      checkAnswer(path, await read(real, path), expectLevels(model, id, locationIds));
    }),
  );

interface HistoryPlan {
  index: number;
  limit: number;
  locationId: string | undefined;
  /** How many writes back the wanted request is; before the first write it is one that never was. */
  back: number | undefined;
}

const historyCommand = fc
  .record<HistoryPlan>({
    index: variant,
    limit: fc.constantFrom(3, 10, 50, 250),
    locationId: maybe(fc.constantFrom(...places)),
    back: maybe(fc.nat(12)),
  })
  .map((plan) => command(`read history ${JSON.stringify(plan)}`, (model, real) => readHistory(model, real, plan)));

/** Follows the cursors to the end: the pages together are the whole history, each as long as it may be. */
async function readHistory(model: ShopModel, real: LiveShop, plan: HistoryPlan): Promise<void> {
  const id = variantIdAt(model, plan.index);
  const sent: HistorySent = {
    ...(plan.locationId !== undefined && { locationId: plan.locationId }),
    ...(plan.back !== undefined && {
      requestId: model.requestIds.at(-1 - plan.back) ?? '00000000-0000-4000-8000-000000000000',
    }),
  };
  const expected = expectHistory(model, id, sent);
  const items = (expected.data ?? []) as unknown[];
  let cursor: string | null = null;
  let seen = 0;
  do {
    const query = new URLSearchParams({ limit: String(plan.limit), ...sent, ...(cursor !== null && { cursor }) });
    const path = `${inventoryPath(id)}/history?${query.toString()}`;
    const answer = await read(real, path);
    if (expected.status !== 200 || answer.status !== 200) return checkAnswer(path, answer, expected);
    const page = steadyData(answer) as { items: unknown[]; nextCursor: string | null };
    const wanted = items.slice(seen, seen + plan.limit);
    expect(page.items, path).to.deep.equal(wanted);
    seen += wanted.length;
    expect(page.nextCursor === null, `${path}: whether anything follows`).to.equal(seen === items.length);
    cursor = page.nextCursor;
  } while (cursor !== null);
}

const some = <T>(...values: T[]) => maybe(fc.constantFrom(...values));

const listCommand = fc
  .record({
    search: some(...searched),
    usageFilter: some('all', 'used', 'unused'),
    originFilter: some('all', 'platform', 'virtual'),
    sortBy: some(...modelSortKeys, 'colour'),
    sortOrder: some('asc', 'desc', 'up'),
    vendorFilter: fc.oneof(fc.constant([]), fc.subarray(['glass', 'none', ...texts], { minLength: 1, maxLength: 4 })),
    page: some(1, 2, 3),
    pageSize: some(1, 2, 3, 4, 1_000),
  })
  .map((plan) =>
    command(`list ${JSON.stringify(plan)}`, async (model, real) => {
      const { vendorFilter, ...single } = plan;
      const given = Object.entries(single).filter(([, value]) => value !== undefined);
      const sent = { ...(Object.fromEntries(given) as Partial<ListSent>), vendorFilter };
      const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
      for (const vendor of vendorFilter) query.append('vendorFilter', vendor);
      const path = `${listPath}?${query.toString()}`;
      const answer = await read(real, path);
      expect(answer.headers['link'], path).to.be.a('string');
      checkAnswer(path, answer, expectList(model, sent));
    }),
  );

function read(real: LiveShop, path: string) {
  return real.ask({ path, key: real.shop.readKey });
}

export const readCommands: fc.Arbitrary<Command>[] = [materialCommand, levelsCommand, historyCommand, listCommand];
