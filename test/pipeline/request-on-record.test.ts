import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import type { Database } from '../../shared/database/connect.js';
import { request } from '../support/http/http.js';
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

  it('leads to a dry run, and to a refusal that the worker found, as executed without an entry', async () => {
    const shop = await createTestShop(database);
    const [locationId = ''] = shop.locationIds;
    const send = (query: string, row: Record<string, unknown>) =>
      request(service.baseUrls[0] ?? '', {
        method: 'PATCH',
        path: `/v1/raw-materials/${shop.materialIds[0] ?? ''}/inventory${query}`,
        key: shop.writeKey,
        body: { updates: [{ locationId, delta: 1, ...row }] },
      });

    const [dryRun, noEntry] = await lookUp(idOf(await send('?dryRun=true', {})));
    expect(dryRun?.[0]).to.include({ status: 'executed', replay_of: null });
    expect(noEntry).to.deep.equal([]);

    const [refused, noEntryEither] = await lookUp(idOf(await send('', { expected: 5 })));
    expect(refused?.[0]).to.include({ status: 'executed' });
    expect(JSON.stringify(refused?.[0]?.['result'])).to.contain('"CONFLICT"');
    expect(noEntryEither).to.deep.equal([]);
  });
});
