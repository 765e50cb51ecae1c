import { expect } from 'chai';
import { findKeyWithShop } from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { parseKey } from '../../../shared/keys/api-key-format.js';
import { until } from '../../support/time/until.js';
import { openManagedShop } from './run-manage.js';
import type { Cli } from './run-manage.js';

interface Shown {
  key: string;
  id: string;
  label: string;
  scope: string;
  expiresAt: string | null;
}

type Rotated = Shown & { replaces: { id: string; expiresAt: string; revokedAt: string | null } };

const hourMs = 3_600_000;
const waitingMsMax = 30_000;

describe('manage keys rotate', () => {
  let database: Database;
  let cli: Cli;
  let shopId: string;
  let close: () => Promise<void>;

  before(async () => {
    ({ database, cli, shopId, close } = await openManagedShop());
  });
  after(() => close());

  const issue = (...options: string[]) =>
    cli.answer<Shown>(['keys', 'issue', '--shop', shopId, '--label', 'till 7', '--scope', 'read', ...options]);
  const rotateArguments = (id: string, ...options: string[]) => ['keys', 'rotate', '--shop', shopId, id, ...options];
  const rotate = (id: string, ...options: string[]) => cli.answer<Rotated>(rotateArguments(id, ...options));
  const countKeys = async () => (await cli.answer<{ keys: object[] }>(['keys', 'list', '--shop', shopId])).keys.length;

  const countWaiting = async () => {
    const { rows } = await database.raw<{ rows: { waiting: number }[] }>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'raw-materials-manage' AND wait_event_type = 'Lock'`,
    );
    return rows[0]?.waiting;
  };

  it('makes a key of the same scope and label, and lets the old one work for another 24 hours', async () => {
    const old = await issue();
    const calledMs = Date.now();
    const rotated = await rotate(old.id);
    const endedMs = Date.now();
    expect(rotated).to.include({ label: 'till 7', scope: 'read', expiresAt: null }).and.not.include({ id: old.id });
    expect(parseKey(rotated.key)).to.deep.equal({
      id: rotated.id,
      secretHash: (await findKeyWithShop(database, rotated.id))?.secretHash,
    });
    const stored = await findKeyWithShop(database, old.id);
    expect(stored?.revokedAt).to.equal(null);
    expect(stored?.expiresAt?.toISOString()).to.equal(rotated.replaces.expiresAt);
    expect(stored?.expiresAt?.getTime()).to.be.within(calledMs + 24 * hourMs, endedMs + 24 * hourMs);
  });

  it('takes another overlap, also none', async () => {
    for (const [overlap, lengthMs] of [
      ['90m', 1.5 * hourMs],
      ['7d', 168 * hourMs],
      ['0m', 0],
    ] as const) {
      const old = await issue();
      const calledMs = Date.now();
      const { replaces } = await rotate(old.id, '--overlap', overlap);
      const endMs = new Date(replaces.expiresAt).getTime();
      expect(endMs, overlap).to.be.within(calledMs + lengthMs, Date.now() + lengthMs);
    }
  });

  it('without an overlap revokes the old one, which no API then takes, whatever its clock says', async () => {
    const old = await issue();
    const { replaces } = await rotate(old.id, '--overlap', '0m');
    const revokedAt = (await findKeyWithShop(database, old.id))?.revokedAt;
    expect(revokedAt).to.be.instanceOf(Date);
    expect(replaces.revokedAt, 'as it is told').to.equal(revokedAt?.toISOString());
  });

  it('says until when the old one works, or that it does not', async () => {
    const lastLine = async (...options: string[]) => {
      const { id } = await issue();
      const { stdout } = await cli.run(rotateArguments(id, ...options));
      return (stdout.trimEnd().split('\n').at(-1) ?? '').replace(id, 'k');
    };
    expect(await lastLine()).to.match(/^The old one, k, works until \d{4}-\S+Z; keys revoke ends it at once\.$/);
    expect(await lastLine('--overlap', '0m')).to.equal('The old one, k, does not work any more.');
  });

  it('shows the new key this once, and never the old one', async () => {
    const old = await issue();
    const { stdout } = await cli.run(rotateArguments(old.id));
    const [key = ''] = /rmk_\w{50}/.exec(stdout) ?? [];
    expect(stdout).to.contain('This is the only time the key is shown.').and.contain(`The old one, ${old.id}, works`);
    expect(stdout).to.not.contain(old.key.slice(16));
    const { stdout: listed } = await cli.run(['keys', 'list', '--shop', shopId]);
    expect(listed).to.contain(key.slice(4, 16)).and.not.contain(key.slice(16));
  });

  it('does not let a key live longer that ends by itself before the overlap does', async () => {
    const soon = new Date(Date.now() + hourMs).toISOString();
    const old = await issue('--expires', soon);
    const { replaces, expiresAt } = await rotate(old.id, '--expires', '2100-01-31');
    expect({ end: replaces.expiresAt, expiresAt }).to.deep.equal({ end: soon, expiresAt: '2100-01-31T00:00:00.000Z' });
  });

  it('of a key that ends asks when the new one does, so that no key outlives its purpose unsaid', async () => {
    const old = await issue('--expires', '2100-01-31');
    const before = await countKeys();
    expect(await cli.refusal(rotateArguments(old.id))).to.match(/ends at 2100-01-31T.*--expires.*--no-expires/s);
    expect(await countKeys()).to.equal(before);
    expect(await rotate(old.id, '--no-expires')).to.include({ expiresAt: null });
  });

  it('of a key that was rotated already asks as well: the newer one is the one to rotate', async () => {
    const old = await issue();
    await rotate(old.id);
    expect(await cli.refusal(rotateArguments(old.id))).to.match(/since it was rotated before/);
  });

  it('refuses a revoked, an ended and an unknown key, and makes none', async () => {
    const revoked = await issue();
    await cli.answer(['keys', 'revoke', '--shop', shopId, revoked.id]);
    const ended = await issue();
    await database.raw("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = ?", [ended.id]);
    const before = await countKeys();
    for (const { id } of [revoked, ended]) {
      expect(await cli.refusal(rotateArguments(id))).to.match(/does not work any more/);
    }
    const pasted = revoked.key;
    expect(await cli.refusal(rotateArguments(pasted)))
      .to.match(/has no key of this id/)
      .and.not.contain(pasted);
    expect(await countKeys()).to.equal(before);
  });

  it('of two at once makes one key: the other finds that it was done', async () => {
    const old = await issue();
    const before = await countKeys();
    // The key is locked until both wait for it: otherwise one might be done before the other begins.
    const { started } = await database.transaction(async (transaction) => {
      await transaction.raw('SELECT 1 FROM api_keys WHERE id = ? FOR UPDATE', [old.id]);
      const both = [1, 2].map(() => cli.run(rotateArguments(old.id)));
      await until(async () => (await countWaiting()) === 2, {
        deadlineMs: waitingMsMax,
        what: 'both to wait for the key',
      });
      return { started: both };
    });
    const ended = await Promise.all(started);
    expect(ended.map(({ code }) => code).toSorted()).to.deep.equal([0, 1]);
    expect(await countKeys()).to.equal(before + 1);
  });

  for (const overlap of ['24', '-1h', '91d', '1w', 'h']) {
    it(`an overlap of ${overlap} is wrong usage`, async () => {
      const { code, stderr } = await cli.run(rotateArguments('000000000000', `--overlap=${overlap}`));
      expect(code).to.equal(64);
      expect(stderr).to.match(/^error: .*--overlap.*up to 90d/);
    });
  }
});
