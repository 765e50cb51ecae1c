import { expect } from 'chai';
import { listLocations } from '../../../shared/database/locations.js';
import { openManagedShop } from './run-manage.js';
import type { ManagedShop } from './run-manage.js';

describe('npm run manage -- locations', () => {
  let managed: ManagedShop;
  before(async () => (managed = await openManagedShop()));
  after(() => managed.close());

  it('list names them by id; one that is there is not added again', async () => {
    const { cli, shopId } = managed;
    const twice = ['locations', 'add', '--shop', shopId, '--id', '70001', '--name', 'other'];
    expect(await cli.refusal(twice)).to.match(/has a location 70001 already/);
    const { locations } = await cli.answer<{ locations: { id: string; name: string }[] }>([
      'locations',
      'list',
      '--shop',
      shopId,
    ]);
    expect(locations.map(({ id, name }) => [id, name])).to.deep.equal([
      ['70001', '70001'],
      ['b=c', 'b=c'],
    ]);
  });

  it('add stores the name, and list shows people which one is the default', async () => {
    const { cli, database } = managed;
    const { id: shopId } = await cli.answer<{ id: number }>(['shops', 'create', '--name', 'Other']);
    const shop = ['--shop', String(shopId)];
    const names = { 9: 'Attic', 10: 'Cellar' };
    for (const [id, name] of Object.entries(names)) {
      const added = await cli.answer(['locations', 'add', ...shop, '--id', id, '--name', name]);
      expect(added).to.deep.equal({ id, name });
    }
    await cli.answer(['shops', 'set', String(shopId), '--default-location', '9']);
    const stored = await listLocations(database, shopId);
    expect(Object.fromEntries(stored.map(({ id, name }) => [id, name]))).to.deep.equal(names);
    expect((await cli.run(['locations', 'list', ...shop])).stdout)
      .to.match(/^9 +Attic +default$/m)
      .and.match(/^10 +Cellar$/m);
  });

  it('list and add refuse an unknown shop', async () => {
    const { cli } = managed;
    expect(await cli.refusal(['locations', 'list', '--shop', '999'])).to.equal('There is no shop 999.');
    const add = ['locations', 'add', '--shop', '999', '--id', '1', '--name', 'x'];
    expect(await cli.refusal(add)).to.equal('There is no shop 999.');
  });
});
