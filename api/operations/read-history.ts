import type { HistoryPage } from '../../shared/contract/history-page.js';
import { historyQuerySchema } from '../../shared/contract/history-query.js';
import type { HistoryQuery } from '../../shared/contract/history-query.js';
import { parseMoment } from '../../shared/contract/moment.js';
import { readLedger } from '../../shared/database/ledger.js';
import type { LedgerEntry, LedgerPosition } from '../../shared/database/ledger.js';
import { findMaterial } from '../../shared/database/materials.js';
import { fail, succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import { toUnits } from '../../shared/domain/quantity.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { materialNotFound, refuseToRead } from './material-refusals.js';

export interface ReadHistoryInput {
  variantId: string;
  /** As the schema takes it. */
  query: HistoryQuery;
}

const limitDefault = historyQuerySchema.properties.limit.default;

/**
 * What changed the levels of a material, newest first (contract §7 `history`). A platform material has no ledger here,
 * and so an empty one. Errors: INVALID_INPUT, NOT_FOUND, SERVICE_UNAVAILABLE (`Reads.ask`).
 */
export async function readHistory(
  { reads }: Services,
  { shop }: Caller,
  { variantId, query }: ReadHistoryInput,
): Promise<Result<HistoryPage>> {
  const refusal = refuseToRead(variantId);
  if (refusal !== undefined) return refusal;
  const { limit = limitDefault, cursor, locationId, requestId, from = '', to = '' } = query;
  const position = cursor === undefined ? undefined : parseCursor(cursor);
  if (cursor !== undefined && position === undefined) return badCursor;
  const wanted = { locationId, requestId, fromMs: parseMoment(from)?.firstMs, toMs: parseMoment(to)?.lastMs };
  const found = await reads.ask(shop.id, async (database) => {
    const ref = { shopId: shop.id, materialId: variantId };
    const page = await readLedger(database, ref, wanted, { position, limit });
    // Whether the material exists must be asked only if there is nothing to show.
    const isThere = (page?.entries.length ?? 0) > 0 || (await findMaterial(database, shop.id, variantId)) !== undefined;
    return { page, isThere };
  });
  if (!found.ok) return found;
  if (!found.data.isThere) return materialNotFound;
  if (found.data.page === undefined) return badCursor;
  const { entries, next } = found.data.page;
  return succeed({ items: entries.map(toItem), nextCursor: next === undefined ? null : toCursor(next) });
}

type HistoryItem = HistoryPage['items'][number];

function toItem(entry: LedgerEntry): HistoryItem {
  const { requested } = entry;
  return {
    locationId: entry.locationId,
    sequence: entry.sequence,
    requested: 'delta' in requested ? { delta: toUnits(requested.delta) } : { absolute: toUnits(requested.absolute) },
    previous: toUnits(entry.previous),
    applied: toUnits(entry.applied),
    level: toUnits(entry.level),
    clamped: entry.clamped,
    at: new Date(entry.atMs).toISOString(),
    channel: entry.channel,
    keyId: entry.keyId,
    requestId: entry.requestId,
    operationId: entry.operationId,
    reason: entry.reason,
    reference: entry.reference,
  };
}

/** Opaque to clients, because its content may change. */
function toCursor({ atMs, skipped }: LedgerPosition): string {
  return Buffer.from(`${atMs}.${skipped}`).toString('base64url');
}

/** Undefined for what is no cursor of ours. */
function parseCursor(cursor: string): LedgerPosition | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, at, skipped] = /^(-?\d{1,14})\.([1-9]\d{0,6})$/.exec(text) ?? [];
  if (at === undefined || skipped === undefined) return undefined;
  const position = { atMs: Number(at), skipped: Number(skipped) };
  return toCursor(position) === cursor ? position : undefined;
}

/** The parameter of the query and the argument of the tool have the same name, so this fits both. */
const badCursor = fail('INVALID_INPUT', 'The cursor is not the nextCursor of a page.', {
  details: [{ path: 'cursor', message: 'Is not the nextCursor of a page.' }],
});
