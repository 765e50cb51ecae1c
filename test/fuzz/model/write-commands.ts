import fc from 'fast-check';
import { inventoryPath } from '../../support/http/material-paths.js';
import { textOf } from './amounts.js';
import { checkAnswer, requestIdOf } from './check-answer.js';
import { expectBatch } from './expect-writes.js';
import type { SentRow } from './expect-writes.js';
import { maybe } from './maybe.js';
import { respelled, spellings } from './respell.js';
import type { Expected, RowModel, ShopModel } from './stock-model.js';
import { command, variantIdAt, variantIndexMax } from './world.js';
import type { Command, KeyedWrite, LiveShop, Write } from './world.js';

const small = fc.integer({ min: -30, max: 30 }).map(String);
const decimals = (places: number, whole: number) =>
  fc
    .tuple(fc.constantFrom('', '-'), fc.nat(whole), fc.nat(10 ** places - 1))
    .map(([sign, units, fraction]) => `${sign}${String(units)}.${String(fraction).padStart(places, '0')}`);
const large = fc.constantFrom('1000000000', '-1000000000', '999999999.999999', '-999999999.999999');
const odd = fc.constantFrom('0', '-0', '0.0000004', '-0.0000005', '0.0000005');

/**
 * Texts of JSON numbers of at most 15 digits, which a double keeps apart; with up to eight places, of which six count.
 */
const delta = fc.oneof(
  { weight: 6, arbitrary: small },
  { weight: 4, arbitrary: decimals(6, 1_000) },
  { weight: 2, arbitrary: decimals(8, 99) },
  { weight: 2, arbitrary: large },
  { weight: 1, arbitrary: odd },
);
const absolute = delta.map((text) => text.replace('-', ''));

/** Rows with one fault each, and where it is named. */
const badRows: { bad: unknown; at: string }[] = [
  { bad: { locationId: '1001', delta: 1, absolute: 2 }, at: '' },
  { bad: { locationId: '1001' }, at: '' },
  { bad: { delta: 1 }, at: '/locationId' },
  { bad: { locationId: '', delta: 1 }, at: '/locationId' },
  { bad: { locationId: 1001, delta: 1 }, at: '/locationId' },
  { bad: { locationId: '1001', delta: '1' }, at: '/delta' },
  { bad: { locationId: '1001', delta: 1_000_000_001 }, at: '/delta' },
  { bad: { locationId: '1001', absolute: -1 }, at: '/absolute' },
  { bad: { locationId: '1001', delta: 1, expectd: 1 }, at: '/expectd' },
  { bad: { locationId: '1001', delta: 1, variantId: 'VMAT-x' }, at: '/variantId' },
  { bad: { locationId: '1001', delta: 1, reason: 'x'.repeat(256) }, at: '/reason' },
  { bad: 5, at: '' },
  { bad: null, at: '' },
];

interface RowPlan {
  bad: { bad: unknown; at: string } | undefined;
  /** The fourth is one that the shop does not have. */
  location: number;
  delta: string | undefined;
  absolute: string;
  /** What `expected` says of the level as it is before the request. */
  expected: 'absent' | 'the level' | 'another';
  reason: string | undefined;
}

const rowPlan = (bad: fc.Arbitrary<RowPlan['bad']>): fc.Arbitrary<RowPlan> =>
  fc.record({
    bad,
    location: fc.constantFrom(0, 0, 0, 1, 1, 2, 3),
    delta: fc.option(delta, { freq: 4, nil: undefined }),
    absolute,
    expected: fc.constantFrom('absent', 'absent', 'absent', 'absent', 'the level', 'another'),
    reason: maybe(fc.constantFrom('count', '')),
  });
const badRow = fc.constantFrom(...badRows);
const row = rowPlan(fc.oneof({ weight: 30, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: badRow }));

const queries = {
  '': undefined,
  '?dryRun=true': undefined,
  '?dryRun=false': undefined,
  '?dryRun=yes': 'dryRun',
  '?dryrun=true': 'dryrun',
} as const;

const preferences = [
  '',
  'return=representation',
  'handling=lenient',
  'return=representation, handling=lenient',
  'wait=1',
];

/** Headers that are sent as keys; an empty one is not sent. */
export const keyHeader = fc.oneof(
  { weight: 8, arbitrary: fc.constant('') },
  { weight: 7, arbitrary: fc.constantFrom('one', 'two', '"two"') },
  { weight: 1, arbitrary: fc.constant('has a blank') },
);

interface AdjustPlan {
  variant: number;
  rows: RowPlan[];
  query: keyof typeof queries;
  prefer: string;
  key: string;
}

export const adjustPlan: fc.Arbitrary<AdjustPlan> = fc.record({
  variant: fc.oneof({ weight: 4, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(variantIndexMax) }),
  rows: fc.oneof(
    { weight: 3, arbitrary: fc.array(row, { minLength: 1, maxLength: 1 }) },
    { weight: 3, arbitrary: fc.array(row, { minLength: 1, maxLength: 12, size: 'max' }) },
    // Batches without a good row are refused on a path of their own.
    { weight: 1, arbitrary: fc.array(rowPlan(badRow), { minLength: 1, maxLength: 2 }) },
  ),
  query: fc.oneof(
    { weight: 16, arbitrary: fc.constant('' as const) },
    { weight: 5, arbitrary: fc.constantFrom('?dryRun=true' as const, '?dryRun=false') },
    { weight: 1, arbitrary: fc.constantFrom('?dryRun=yes' as const, '?dryrun=true') },
  ),
  prefer: fc.constantFrom(...preferences),
  key: keyHeader,
});

/** An inventory batch of any kind: several rows, unknown locations, malformed rows, dry runs, keys. */
export const adjustCommand: fc.Arbitrary<Command> = adjustPlan.map((plan) =>
  command(`adjust ${JSON.stringify(plan)}`, (model, real) => send(model, real, adjustSending(model, plan))),
);

export function adjustSending(model: ShopModel, plan: AdjustPlan): Sending {
  const { query, prefer } = plan;
  const variantId = variantIdAt(model, plan.variant);
  const rows = plan.rows.map((planned) => sentRow(model, variantId, planned));
  const body = `{"updates":[${rows.map(rowText).join(',')}]}`;
  const sent = {
    variantId,
    rows,
    lenient: prefer.includes('lenient'),
    detailed: prefer.includes('representation'),
    dryRun: query === '?dryRun=true',
  };
  return {
    path: inventoryPath(variantId),
    query,
    queryFault: queries[query],
    headers: prefer === '' ? {} : { prefer },
    key: plan.key,
    body,
    outcome: (shop, requestId) => expectBatch(shop, sent, requestId),
  };
}

function sentRow(model: ShopModel, variantId: string, plan: RowPlan): SentRow {
  if (plan.bad !== undefined) return plan.bad;
  const locationId = model.locations[plan.location] ?? 'nowhere';
  const level = model.materials.get(variantId)?.levels.get(locationId) ?? 0n;
  const made: RowModel = { locationId };
  if (plan.delta === undefined) made.absolute = plan.absolute;
  else made.delta = plan.delta;
  if (plan.expected === 'the level') made.expected = textOf(level);
  if (plan.expected === 'another') made.expected = textOf(level > 0n ? level - 1n : level + 1n);
  if (plan.reason !== undefined) Object.assign(made, { reason: plan.reason, reference: `ref ${plan.reason}` });
  return { row: made };
}

/** A row as JSON, each number written exactly as its text. */
function rowText(sent: SentRow): string {
  if ('bad' in sent) return JSON.stringify(sent.bad);
  const numbers = new Set(['delta', 'absolute', 'expected']);
  const members = Object.entries(sent.row).map(
    ([name, text]: [string, string]) => `"${name}":${numbers.has(name) ? text : JSON.stringify(text)}`,
  );
  return `{${members.join(',')}}`;
}

export interface Sending {
  path: string;
  query: string;
  queryFault: string | undefined;
  headers: Record<string, string>;
  key: string;
  body: string;
  outcome: Write['outcome'];
}

/** Sends a write, and keeps it for a repeat if it has a key. */
export async function send(model: ShopModel, real: LiveShop, sending: Sending): Promise<void> {
  const keyed = toWrite(real, sending);
  if (keyed.write.key !== undefined) real.keyed.push(keyed);
  await carryOut(model, real, keyed);
}

/** A write as it is sent; its query, key and headers may decide what becomes of it, before what its body does. */
export function toWrite(real: LiveShop, sending: Sending): KeyedWrite {
  const { path, query, queryFault, headers, key, body, outcome } = sending;
  const bare = key.replaceAll('"', '');
  const isBadKey = bare.includes(' ');
  return {
    asked: {
      method: 'PATCH',
      path: path + query,
      key: real.shop.writeKey,
      headers: { ...headers, 'content-type': 'application/json', ...(key !== '' && { 'idempotency-key': key }) },
      body,
    },
    write: {
      key:
        key === '' || isBadKey
          ? undefined
          : { scope: `${path} ${bare}`, meaning: JSON.stringify([canonical(JSON.parse(body)), query, headers]) },
      fault: queryFault ?? (isBadKey ? 'Idempotency-Key' : undefined),
      outcome,
    },
  };
}

/** Levels that are below zero by then stay so, and no negative delta raises them (contract §3.5). */
export const switchCommand: fc.Arbitrary<Command> = fc.boolean().map((allowed) =>
  command(`negative levels are ${allowed ? 'allowed' : 'refused'} from here on`, async (model, real) => {
    await real.allowNegative(allowed);
    model.allowNegative = allowed;
  }),
);

/**
 * Sends the last keyed write, or an earlier one, again: a replay, or 422 if its key has gone to another write. However
 * its body is spelled by then, it is the same request.
 */
export const repeatCommand: fc.Arbitrary<Command> = fc
  .record({ back: fc.nat(20), spelling: fc.constantFrom(...spellings) })
  .map(({ back, spelling }) =>
    command(`repeat the keyed write ${String(back)} back, ${spelling}`, async (model, real) => {
      const keyed = real.keyed.at(-1 - (back % Math.max(1, real.keyed.length)));
      if (keyed === undefined) return;
      const { asked, write } = keyed;
      await carryOut(model, real, { asked: { ...asked, body: respelled(String(asked.body), spelling) }, write });
    }),
  );

async function carryOut(model: ShopModel, real: LiveShop, { asked, write }: KeyedWrite): Promise<void> {
  const answer = await real.ask(asked);
  const requestId = requestIdOf(answer);
  model.requestIds.push(requestId);
  checkAnswer(`${asked.path} ${String(asked.body)}`, answer, answerOf(model, write, requestId));
}

/** What a write is answered if it runs now; the model becomes what it makes of the shop. */
export function answerOf(model: ShopModel, write: Write, requestId: string): Expected {
  if (write.fault !== undefined) return { status: 400, code: 'INVALID_INPUT', paths: [write.fault] };
  const earlier = write.key && model.remembered.get(write.key.scope);
  // Tried on a copy first: a write that is refused for its body alone does not get as far as the key.
  if (earlier !== undefined && write.outcome(structuredClone(model), requestId).executed) {
    if (earlier.meaning !== write.key?.meaning) return { status: 422, code: 'IDEMPOTENCY_KEY_REUSED' };
    return { ...earlier.expected, replayed: true };
  }
  const { expected, executed } = write.outcome(model, requestId);
  if (executed && write.key !== undefined) {
    model.remembered.set(write.key.scope, { meaning: write.key.meaning, expected: structuredClone(expected) });
  }
  return expected;
}

/** One text for the same JSON, whatever the order of its members and the texts of its numbers. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'number' ? value + 0 : value;
  if (Array.isArray(value)) return value.map(canonical);
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => [name, canonical(member)]);
}
