import { expect } from 'chai';
import { createAdmission } from '../../../api/dispatch/admission.js';
import type { Admission } from '../../../api/dispatch/admission.js';
import type { Health } from '../../../api/dispatch/health.js';
import type { Command } from '../../../shared/domain/operation.js';

const [shopMax, processMax] = [3, 5];
const bytesMax = 64 * 1_024 * 1_024;
const small: Command = { kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] };
/** A quarter of all that may be in flight: three such writes fit, a fourth does not. */
const large: Command = { kind: 'adjust', rows: [{ locationId: '1', delta: 1, reason: 'x'.repeat(bytesMax / 4) }] };

describe('the admission of writes', () => {
  const open = (refusal?: string, max = { shop: shopMax, process: processMax }): Admission =>
    createAdmission({ WAIT_MS: 1_000, IN_FLIGHT_SHOP_MAX: max.shop, IN_FLIGHT_MAX: max.process }, {
      refusal: () => refusal,
    } as unknown as Health);
  /** The request as it was admitted, to leave with; or the sentence of its refusal. */
  const admit = (admission: Admission, shopId: number, command: Command = small) => {
    const admitted = admission.admit(shopId, command);
    if (admitted.ok) return { ref: { shopId }, bytes: admitted.bytes };
    return admitted.refused.status === 'not-applied' ? admitted.refused.message : admitted.refused.status;
  };
  type Request = Exclude<ReturnType<typeof admit>, string>;

  it('counts the writes of a shop, of the process, and their bytes, and forgets those that have left', () => {
    const admission = open();
    // Often enough that anything kept of each would add up to a refusal.
    for (let round = 0; round < 10; round += 1) {
      const requests = [1, 1, 1, 2, 2].map((shopId, index) => admit(admission, shopId, index < 3 ? large : small));
      expect(requests.filter((request) => typeof request === 'string')).to.deep.equal([]);
      expect(admit(admission, 1)).to.match(/shop has too many/);
      expect(admit(admission, 3)).to.match(/Too many writes/);
      for (const request of requests) admission.leave(request as Request);
    }
  });

  it('keeps the last places for shops below an equal share, so that two floods do not shut out a third', () => {
    const admission = open(undefined, { shop: 50, process: 100 });
    /** How many of a flood of writes are admitted. */
    const flood = (shopId: number, writes: number): Request[] =>
      Array.from({ length: writes }, () => admit(admission, shopId)).filter((asked) => typeof asked !== 'string');
    // Shops that have nothing in flight any more are none that share.
    for (let shopId = 10; shopId < 30; shopId += 1) for (const request of flood(shopId, 1)) admission.leave(request);
    const [first, second] = [flood(1, 60), flood(2, 60)];
    expect([first.length, second.length]).to.deep.equal([50, 41]);
    expect(admit(admission, 2)).to.match(/has its share/);
    expect(flood(3, 60), 'the places that were kept').to.have.length(9);
    expect(admit(admission, 3)).to.match(/^Too many writes are in flight\.$/);
    // A quarter is a share now, and what a flood leaves goes to whoever is below it, as far as that.
    for (const request of first.slice(0, 16)) {
      admission.leave(request);
      expect(admit(admission, 1)).to.match(/has its share/);
      expect(admit(admission, 3)).to.be.an('object');
    }
    for (const request of first.slice(16, 17)) admission.leave(request);
    expect(admit(admission, 3)).to.match(/has its share/);
    expect(admit(admission, 4), 'one that comes only now').to.be.an('object');
  });

  it('refuses more bytes than may be in flight, whoever sends them, until some have left', () => {
    const admission = open();
    const [first] = [1, 1, 1].map((shopId) => admit(admission, shopId, large));
    expect(admit(admission, 2, large)).to.match(/Too much data/);
    expect(admit(admission, 2)).to.be.an('object');
    admission.leave(first as Request);
    expect(admit(admission, 2, large)).to.be.an('object');
  });

  it('counts each text of a row, and the row itself', () => {
    const [admission, text] = [open(), 'x'.repeat(bytesMax / 2)];
    const row = { locationId: '1', delta: 1 };
    for (const more of [{ locationId: text }, { reason: text }, { reference: text }]) {
      const first = admit(admission, 1, { kind: 'adjust', rows: [{ ...row, ...more }] });
      expect(admit(admission, 1, { kind: 'adjust', rows: [{ ...row, reason: text }] })).to.match(/Too much data/);
      admission.leave(first as Request);
    }
  });

  it('says that an update, which answers with the whole material, is as much work as many rows', () => {
    const admission = open();
    const { ok, weight } = admission.admit(1, { kind: 'update', changes: { sku: 'S' } }) as Record<string, unknown>;
    expect({ ok, weight }).to.deep.equal({ ok: true, weight: 31 });
    expect(admission.admit(1, small)).to.include({ ok: true, weight: 1 });
  });

  it('counts the fields of an update like the texts of rows', () => {
    const admission = open();
    const update: Command = { kind: 'update', changes: { specifications: 'x'.repeat(bytesMax / 2) } };
    for (const command of [update, large]) expect(admit(admission, 1, command)).to.be.an('object');
    expect(admit(admission, 1, large)).to.match(/Too much data/);
  });

  it('says what is away, and once it is closed that, whatever room there is', () => {
    expect(admit(open('No worker is running.'), 1)).to.equal('No worker is running.');
    const admission = open();
    admission.close();
    expect(admit(admission, 1)).to.match(/shutting down/);
  });
});
