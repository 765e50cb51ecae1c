import { expect } from 'chai';
import { logPlatformEvents } from '../../../shared/platform/log-platform-events.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { createSubject, levelsReply, onShop, path, shop, shutNetwork } from './fixtures.js';

const good = levelsReply([{ locationId: '1', quantity: 1 }]);

describe('the version of its API that Shopify answers by', () => {
  shutNetwork();

  const answerBy = (version: string, body: object = good) =>
    onShop().post(path).reply(200, body, { 'X-Shopify-API-Version': version });
  const other = (answered: string) => ({ kind: 'other-version', asked: '2026-10', answered });

  it('is told where it is another one than was asked for, once each', async () => {
    const { platform, events } = createSubject();
    for (const version of ['2027-01', '2026-10', '2027-01', '2027-04']) {
      answerBy(version);
      expect((await platform.readLevels(shop, '42')).ok, version).to.equal(true);
    }
    expect(events).to.deep.equal([other('2027-01'), other('2027-04')]);
  });

  it('is told also where the answer cannot be understood, which may be why', async () => {
    const { platform, events } = createSubject();
    answerBy('2027-01', { data: {} });
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'invalid-response' });
    expect(events.map(({ kind }) => kind)).to.deep.equal(['other-version', 'attempt-failed']);
  });

  it('is a warning that says what to do', () => {
    const warnings: unknown[][] = [];
    const logger = { warn: (...warning: unknown[]) => warnings.push(warning) } as unknown as Logger;
    const event = { kind: 'other-version', asked: '2026-10', answered: '2027-01' } as const;
    logPlatformEvents(logger)(event);
    expect(warnings).to.have.lengthOf(1);
    expect(warnings[0]?.[0]).to.equal(event);
    expect(warnings[0]?.[1]).to.match(/another version of its API .*: update the service/);
  });

  it('is not told where it is the one that was asked for, is missing, or is no version', async () => {
    const { platform, events } = createSubject();
    onShop().post(path).reply(200, good);
    answerBy('2026-10');
    answerBy('words of the platform');
    for (let call = 0; call < 3; call += 1) expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    expect(events).to.deep.equal([]);
  });
});
