import { expect } from 'chai';
import { observeRequests } from '../../../api/http/observe-requests.js';
import { fail } from '../../../shared/domain/errors.js';
import type { Logger } from '../../../shared/runtime/logger.js';

describe('the log of requests', () => {
  const now = performance.now.bind(performance);
  afterEach(() => {
    performance.now = now;
  });

  it('has a client that was gone before its answer as 499, and warns of it where the answer was an error of the server', async () => {
    for (const [code, warned] of [
      ['INTERNAL_ERROR', 1],
      ['NOT_FOUND', 0],
    ] as const) {
      const seen: unknown[] = [];
      const logger = { warn: (fields: object) => seen.push(fields), isLevelEnabled: () => false } as unknown as Logger;
      let counted: unknown;
      const log = observeRequests(logger, (request) => (counted = request));
      const ctx = { method: 'GET', res: { headersSent: false, statusCode: 404 } } as unknown as Parameters<
        typeof log
      >[0];
      await log(ctx, () => {
        ctx.state.reply = { result: fail(code, 'No.') };
        return Promise.resolve();
      });
      expect(counted).to.include({ method: 'GET', status: 499 });
      expect(seen).to.have.length(warned);
      for (const fields of seen) expect(fields).to.include({ status: 499, code });
    }
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
