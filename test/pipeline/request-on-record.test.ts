import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import type { Database } from '../../shared/database/connect.js';
import type { Answer } from '../support/http/http.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { adjust } from '../support/shop/change.js';
import { createTestShop } from '../support/shop/shop.js';

const handbook = readFileSync(new URL('../../shared/manage/README.md', import.meta.url), 'utf8');
const [, section = ''] = handbook.split('## What became of a request');
const [, statements = ''] = /^```sql\n(.*?)^```$/ms.exec(section) ?? [];

describe('the request id of an answer', () => {
  let service: Service;
  let database: Database;
  useService({ apis: 1, workers: 1 }, (started) => ({ service, database } = started));

  const idOf = ({ body }: Answer) => (body as { meta: { requestId: string } }).meta.requestId;
  /** As psql does with `-v request=…`. */
  const lookUp = async (requestId: string) => {
    const client = new pg.Client({ connectionString: service.databaseUrl });
    await client.connect();
    const answers = (await client.query(statements.replaceAll(":'request'", `'${requestId}'`))) as unknown;
    await client.end();
    return (answers as pg.QueryResult<Record<string, unknown>>[]).map(({ rows }) => rows);
  };

  it("leads by the handbook's statements to what became of it, and to what it booked", async () => {
    const shop = await createTestShop(database);
    const [locationId = ''] = shop.locationIds;
    const send = (delta: number) =>
      adjust(service.baseUrls[0] ?? '', shop, [{ locationId, delta }], { idempotencyKey: 'once' });
    const first = idOf(await send(2));
    const replayed = idOf(await send(2));
    const about = { shop_id: shop.shopId, material_id: shop.materialIds[0] };

    const [operations, entries] = await lookUp(first);
    expect(operations).to.have.length(1);
    expect(operations?.[0]).to.include({ ...about, status: 'executed', replay_of: null });
    expect(entries).to.have.length(1);
    expect(entries?.[0]).to.include({
      ...about,
      location_id: locationId,
      applied: '2.000000',
      level_after: '2.000000',
    });

    const [replays, nothing] = await lookUp(replayed);
    expect(replays?.[0]).to.include({ ...about, status: 'replayed', replay_of: first });
    expect(nothing).to.deep.equal([]);
  });
});
