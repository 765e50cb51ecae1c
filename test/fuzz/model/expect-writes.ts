import { amountOf, shownNumber, textOf } from './amounts.js';
import { copyOf, rowForTotal, runRow, shownMaterial } from './stock-model.js';
import type { Expected, Fields, MaterialModel, RowEffect, RowModel, ShopModel } from './stock-model.js';

/** A row as it is sent: a good one, or one with a fault at this path below the row. */
export type SentRow = { row: RowModel } | { bad: unknown; at: string };

export interface BatchSent {
  variantId: string;
  rows: readonly SentRow[];
  lenient: boolean;
  detailed: boolean;
  dryRun: boolean;
}

export interface UpdateSent {
  variantId: string;
  /** Only fields that are recognised; the stock as a text. */
  fields: Fields;
  inventoryQuantity: string | undefined;
  /** Fields at fault. */
  bad: readonly string[];
  ifMatch: IfMatch;
}

/** What the header says of the version that the material has. */
export type IfMatch = 'absent' | 'any' | 'names it' | 'names another' | 'is none';

/** What is answered, and whether it was executed and so is remembered under a key (contract §7). */
export interface Outcome {
  expected: Expected;
  executed: boolean;
}

const invalid = (...paths: string[]): Expected => ({ status: 400, code: 'INVALID_INPUT', paths: paths.sort() });
const notFound: Expected = { status: 404, code: 'NOT_FOUND' };
const statusOf = { NOT_FOUND: 404, INVALID_INPUT: 400, CONFLICT: 409 } as const;
type RowCode = keyof typeof statusOf;

/** What a write is answered if its id cannot be that of a virtual material; undefined if it may be. */
function refusedId(variantId: string): Expected | undefined {
  if (!variantId.startsWith('VMAT-')) return invalid('variantId');
  return undefined;
}

/** An inventory batch (contract §3); changes the model as the service must change. */
export function expectBatch(shop: ShopModel, sent: BatchSent, requestId: string): Outcome {
  const faults = sent.rows.flatMap((row, index) => ('bad' in row ? [`/updates/${String(index)}${row.at}`] : []));
  if (faults.length > 0 && !sent.lenient) return { expected: invalid(...faults), executed: false };
  const refused = refusedId(sent.variantId);
  if (refused !== undefined) return { expected: refused, executed: false };
  const material = shop.materials.get(sent.variantId);
  const isDispatched = faults.length < sent.rows.length;
  if (material === undefined) return { expected: notFound, executed: isDispatched };
  if (!isDispatched) return { expected: collapsed('INVALID_INPUT', sent.rows), executed: false };
  return { expected: answerToBatch(sent, effectsOf(shop, material, sent, requestId)), executed: true };
}

function effectsOf(shop: ShopModel, material: MaterialModel, sent: BatchSent, requestId: string): RowEffect[] {
  const target = sent.dryRun ? copyOf(material) : material;
  return sent.rows.map((sentRow) =>
    'row' in sentRow
      ? runRow(shop, target, sentRow.row, requestId)
      : { ok: false, code: 'INVALID_INPUT', previous: 0n, applied: 0n, level: 0n, clamped: false },
  );
}

function answerToBatch(sent: BatchSent, effects: readonly RowEffect[]): Expected {
  const failures = effects.filter(({ ok }) => !ok);
  const [first] = failures;
  if (
    first?.code !== undefined &&
    failures.length === effects.length &&
    effects.every(({ code }) => code === first.code)
  )
    return collapsed(first.code, sent.rows);
  const results = effects.map((effect, index) => {
    if (!effect.ok) return { index, ok: false, error: { code: effect.code, message: '(text)' } };
    const base = { index, ok: true, id: sent.variantId };
    return sent.detailed || sent.dryRun ? { ...base, ...shownEffect(sent.rows[index], effect) } : base;
  });
  const applied = [...(sent.detailed ? ['return=representation'] : []), ...(sent.lenient ? ['handling=lenient'] : [])];
  return {
    status: 200,
    data: { results, okCount: effects.length - failures.length, failedCount: failures.length, skippedCount: 0 },
    ...(applied.length > 0 && { applied: applied.join(', ') }),
  };
}

function shownEffect(sent: SentRow | undefined, { previous, applied, level, clamped }: RowEffect): object {
  return {
    locationId: sent !== undefined && 'row' in sent ? sent.row.locationId : '',
    previous: shownNumber(previous),
    applied: shownNumber(applied),
    level: shownNumber(level),
    clamped,
  };
}

function collapsed(code: RowCode, rows: readonly SentRow[]): Expected {
  return { status: statusOf[code], code, paths: rows.map((_, index) => `/updates/${String(index)}`).sort() };
}

/** A field update (contract §2 "Editable fields", §4, §7 `If-Match`). */
export function expectUpdate(shop: ShopModel, sent: UpdateSent, requestId: string): Outcome {
  const { variantId, fields, inventoryQuantity, bad, ifMatch } = sent;
  if (ifMatch === 'is none') return { expected: invalid('If-Match'), executed: false };
  if (bad.length > 0) return { expected: invalid(...bad.map((name) => `/${name}`)), executed: false };
  const refused = refusedId(variantId);
  if (refused !== undefined) return { expected: refused, executed: false };
  const material = shop.materials.get(variantId);
  if (material === undefined) return { expected: notFound, executed: true };
  if (ifMatch === 'names another') return { expected: { status: 412, code: 'PRECONDITION_FAILED' }, executed: true };
  if (inventoryQuantity !== undefined) {
    const target = rowForTotal(shop, material, amountOf(inventoryQuantity));
    const row = target === undefined ? undefined : { locationId: shop.defaultLocation ?? '', absolute: textOf(target) };
    const booked = row !== undefined && runRow(shop, material, row, requestId).ok;
    if (!booked) return { expected: invalid('/inventoryQuantity'), executed: true };
  }
  const changes = Object.entries(fields).map(rounded);
  if (changes.some(([name, value]) => material.fields[name] !== value)) {
    Object.assign(material.fields, Object.fromEntries(changes));
    material.version += 1;
  }
  return {
    expected: { status: 200, data: shownMaterial(material), etag: `"${String(material.version)}"` },
    executed: true,
  };
}

function rounded([name, value]: [string, Fields[string]]): [string, Fields[string]] {
  return [name, typeof value === 'number' ? shownNumber(amountOf(String(value))) : value];
}
