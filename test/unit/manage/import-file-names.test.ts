import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { findMaterial } from '../../../shared/database/materials.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { openManagedShop } from './run-manage.js';
import type { ManagedShop } from './run-manage.js';

describe('the file of npm run manage -- materials import', () => {
  let managed: ManagedShop;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  before(async () => {
    managed = await openManagedShop();
    folder = await temporaryFolder();
  });
  after(async () => {
    await managed.close();
    await folder.remove();
  });

  const files: [name: string, content: string][] = [
    ['A.CSV', 'id,productName\nVMAT-1,Wax\n'],
    ['a.ndjson', '{"id":"VMAT-2","productName":"Wax"}\n'],
    ['A.JsonL', '{"id":"VMAT-3","productName":"Wax"}\n'],
  ];
  for (const [index, [name, content]] of files.entries()) {
    it(`is read by its ending, in capitals too: ${name}`, async () => {
      const { cli, database, shopId } = managed;
      const path = join(folder.path, name);
      await writeFile(path, content);
      expect(await cli.answer(['materials', 'import', '--shop', shopId, path])).to.include({ imported: 1 });
      const material = await findMaterial(database, Number(shopId), `VMAT-${index + 1}`);
      expect(material).to.include({ productName: 'Wax' });
    });
  }
});
