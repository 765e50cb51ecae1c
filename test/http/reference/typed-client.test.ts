import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { useHttpService } from '../../support/http/http-service.js';
import { request } from '../../support/http/http.js';
import { createReferenceShop, waxBlendId } from '../../support/http/reference-shop.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const run = promisify(execFile);
/** tsc takes 3 s alone, and 20 s have been seen beside other suites. */
const compileMsMax = 120_000;

/** The README's first calls, as a user of the generated types writes them; what they get wrong does not compile. */
const client = `
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi.js';

export async function firstCalls(baseUrl: string, key: string, variantId: string) {
  const client = createClient<paths, 'application/json'>({ baseUrl, headers: { Authorization: \`Bearer \${key}\` } });
  const list = await client.GET('/v1/raw-materials', { params: { query: { search: 'wax', vendorFilter: ['In-house'] } } });
  const items: components['schemas']['Material'][] | undefined = list.data?.data.items;
  const adjusted = await client.PATCH('/v1/raw-materials/{variantId}/inventory', {
    params: { path: { variantId }, header: { 'Idempotency-Key': 'typed-1' } },
    body: { updates: [{ locationId: '70001', delta: 5 }, { locationId: '99', delta: 1 }] },
  });
  const okCount: number | undefined = adjusted.data?.data.okCount;
  const levels = await client.GET('/v1/raw-materials/{variantId}/inventory', { params: { path: { variantId } } });
  const refused = await client.PATCH('/v1/raw-materials/{variantId}', {
    params: { path: { variantId: '8005' } },
    body: { unitCost: 1 },
  });
  const code = refused.error?.error.code;
  // @ts-expect-error no answer of this operation has this code
  if (code === 'UPSTREAM_ERROR') throw new Error(code);
  const requestId: string | undefined = refused.error?.meta.requestId;
  // @ts-expect-error a quantity is a number
  const wrong: components['schemas']['InventoryRow'] = { locationId: '70001', delta: '5' };
  return { items, okCount, levels: levels.data?.data, code, requestId, wrong };
}
`;

interface FirstCalls {
  items: { id: string }[];
  okCount: number;
  levels: { totalQuantity: number };
  code: string;
  requestId: string;
}

describe('a client generated from /openapi.json', () => {
  const http = useHttpService();

  it("compiles strictly, and the README's first calls work through it", async () => {
    const folder = await temporaryFolder();
    try {
      const root = fileURLToPath(new URL('../../..', import.meta.url));
      const { text } = await request(http.baseUrl, { path: '/openapi.json' });
      await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
      await writeFile(join(folder.path, 'package.json'), '{ "type": "module" }');
      await writeFile(join(folder.path, 'openapi.ts'), astToString(await openapiTypescript(text)));
      await writeFile(join(folder.path, 'client.ts'), client);
      const options =
        '--noEmit --strict --skipLibCheck --exactOptionalPropertyTypes --module nodenext --target es2023 --types node';
      const args = [
        join(root, 'node_modules/typescript/bin/tsc'),
        ...options.split(' '),
        join(folder.path, 'client.ts'),
      ];
      const compiled = await run(process.execPath, args, { cwd: folder.path, timeout: compileMsMax }).catch(
        (error: unknown) => error as { stdout: string },
      );
      expect(compiled.stdout).to.equal('');

      const shop = await createReferenceShop(http.database);
      const { firstCalls } = (await import(pathToFileURL(join(folder.path, 'client.ts')).href)) as {
        firstCalls: (baseUrl: string, key: string, variantId: string) => Promise<FirstCalls>;
      };
      const { items, okCount, levels, code, requestId } = await firstCalls(http.baseUrl, shop.writeKey, waxBlendId);
      expect(items.map(({ id }) => id)).to.deep.equal([waxBlendId]);
      expect(okCount).to.equal(1);
      expect(levels.totalQuantity).to.equal(5);
      expect(code).to.equal('INVALID_INPUT');
      expect(requestId).to.match(/^[0-9a-f-]{36}$/);
    } finally {
      await folder.remove();
    }
  });
});
