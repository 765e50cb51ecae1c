import { expect } from 'chai';
import { version } from 'uuid';
import { newRequestId } from '../../../api/http/request-id.js';

describe('the ids of requests', () => {
  it('are UUIDv7 of this moment, no two alike, also beyond those whose random bytes were drawn together', () => {
    const beforeMs = Date.now();
    const ids = Array.from({ length: 2_000 }, newRequestId);
    const afterMs = Date.now();
    expect(new Set(ids).size).to.equal(ids.length);
    // Without the time: the random part alone is never the same either.
    expect(new Set(ids.map((id) => id.slice(-12))).size).to.equal(ids.length);
    for (const id of ids) {
      expect(version(id)).to.equal(7);
      expect(parseInt(id.replaceAll('-', '').slice(0, 12), 16)).to.be.within(beforeMs, afterMs);
    }
  });
});
