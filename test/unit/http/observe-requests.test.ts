import { expect } from 'chai';
import { observeRequests } from '../../../api/http/observe-requests.js';
import type { Logger } from '../../../shared/runtime/logger.js';

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
    const log = observeRequests(logger, () => undefined);
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
