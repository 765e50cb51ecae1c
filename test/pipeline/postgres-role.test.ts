import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { checkLedger } from '../../shared/database/ledger-check.js';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import { pruneOperations } from '../../shared/database/operations.js';
import { addOne } from '../support/change.js';
import { request } from '../support/http.js';
import { createTestDatabase } from '../support/servers.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { createTestShop } from '../support/shop.js';

/** The README's, for the processes and `manage`; the tables are another's, who migrates. */
const grants = [
  'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO',
  'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO',
];

describe('a role of Postgres with no more rights than the README says', () => {
  let databaseOf: Awaited<ReturnType<typeof createTestDatabase>>;
  let owner: Database;
  let database: Database;
  let service: Service;
  let role: string;
  before(async () => {
    databaseOf = await createTestDatabase();
    role = `role_of_${new URL(databaseOf.url).pathname.slice(1)}`;
    owner = connectDatabase({ url: databaseOf.url, poolMax: 1, applicationName: 'test' });
    await owner.raw(`CREATE ROLE ?? LOGIN PASSWORD 'secret'`, [role]);
    for (const grant of grants) await owner.raw(`${grant} ??`, [role]);
    const url = Object.assign(new URL(databaseOf.url), { username: role, password: 'secret' }).href;
    database = connectDatabase({ url, poolMax: 1, applicationName: 'test' });
    service = await startService({ databaseUrl: url });
  });
  after(async () => {
    await service.stop();
    await database.destroy();
    await owner.raw('DROP OWNED BY ??', [role]);
    await owner.raw('DROP ROLE ??', [role]);
    await owner.destroy();
    await databaseOf.drop();
  });

  it('has the rights that the README says', async () => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    for (const grant of grants) expect(readme).to.contain(grant);
  });

  it('is refused nothing: by setting a shop up, by every path of the API, by what runs beside them', async () => {
    const shop = await createTestShop(database, { materials: 2 });
    const [baseUrl = ''] = service.baseUrls;
    const [materialId = ''] = shop.materialIds;
    expect(await addOne(baseUrl, shop, { idempotencyKey: 'once' })).to.include({ status: 200 });
    expect(await addOne(baseUrl, shop, { idempotencyKey: 'once' }), 'again').to.include({ status: 200 });
    const of = `/v1/raw-materials/${materialId}`;
    for (const asked of [
      { path: of, method: 'PATCH', body: { productName: 'Renamed', vendor: 'A new one' } },
      { path: '/v1/raw-materials?search=renamed&vendorFilter=A%20new%20one' },
      { path: `${of}?includeConnections=true` },
      { path: `${of}/inventory` },
      { path: `${of}/inventory/history` },
      { path: '/readyz' },
    ]) {
      const { status, text } = await request(baseUrl, { ...asked, key: shop.writeKey });
      expect(status, `${asked.path}: ${text}`).to.equal(200);
    }
    await pruneOperations(database, { keptMs: 0, batchSize: 10 });
    expect(await checkLedger(database)).to.deep.include({ levels: 1, mismatchCount: 0 });
    const said = [...service.apis, ...service.workers].flatMap((each) => each.logs()).join('\n');
    expect(said).to.not.contain('permission denied');
  });
});
