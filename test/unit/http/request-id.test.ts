import { expect } from 'chai';
import { version } from 'uuid';
import { newRequestId, requestId } from '../../../api/http/request-id.js';
import type { Logger } from '../../../shared/runtime/logger.js';

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

describe('the log of requests', () => {
  const now = performance.now.bind(performance);
  afterEach(() => {
    performance.now = now;
  });

  it('has the server errors of each second, but not all of an overload', async () => {
    let nowMs = 0;
    performance.now = () => nowMs;
    let warnings = 0;
    const logger = { warn: () => (warnings += 1), isLevelEnabled: () => false } as unknown as Logger;
    const log = requestId(logger, () => undefined);
    const answer = async (statusCode: number) => {
      const ctx = { method: 'GET', res: { headersSent: true, statusCode } };
      await log(ctx as unknown as Parameters<typeof log>[0], () => Promise.resolve());
    };
    for (const second of [0, 1, 2]) {
      nowMs = second * 1_000;
      warnings = 0;
      for (const status of [200, 404, 499]) await answer(status);
      expect(warnings, 'of what is no error of the server').to.equal(0);
      for (let count = 0; count < 200; count += 1) await answer(503);
      expect(warnings).to.equal(50);
    }
  });
});
