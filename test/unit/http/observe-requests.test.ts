import { mock } from 'node:test';
import { expect } from 'chai';
import type { ToolRefusal } from '../../../api/agent-exchange.js';
import { observeRequests } from '../../../api/http/observe-requests.js';
import type { RequestState } from '../../../api/http/request-state.js';
import { createWarningAllowance } from '../../../api/http/warning-allowance.js';
import { fail, statusByCode } from '../../../shared/domain/errors.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { slowClock } from '../../support/time/slow-clock.js';

describe('the log of requests', () => {
  afterEach(() => {
    mock.timers.reset();
  });

  it('has a client that was gone before its answer as 499, and warns of it where the answer was an error of the server', async () => {
    for (const [code, warned] of [
      ['INTERNAL_ERROR', 1],
      ['NOT_FOUND', 0],
    ] as const) {
      const seen: unknown[] = [];
      const logger = { warn: (fields: object) => seen.push(fields), isLevelEnabled: () => false } as unknown as Logger;
      let counted: unknown;
      const log = observeRequests(logger, (request) => (counted = request), createWarningAllowance(logger));
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

  it('has the server errors of each second, but of an overload not all, and counts the others', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const said: { text: string; leftOutCount?: number }[] = [];
    const warn = (fields: { leftOutCount?: number }, text: string) => said.push({ ...fields, text });
    const logger = { warn, isLevelEnabled: () => false } as unknown as Logger;
    const log = observeRequests(logger, () => undefined, createWarningAllowance(logger));
    const answer = async (statusCode: number, toolRefusal?: ToolRefusal) => {
      const ctx = { method: 'GET', res: { headersSent: true, statusCode } } as unknown as Parameters<typeof log>[0];
      await log(ctx, () => {
        ctx.state.toolRefusal = toolRefusal;
        return Promise.resolve();
      });
    };
    const refusal = { tool: 'get_inventory', error: fail('UPSTREAM_ERROR', 'No.').error };
    const endOfSecond = () => {
      said.length = 0;
      mock.timers.tick(1_000);
      return said.map(({ text, leftOutCount }) => ({ text, leftOutCount }));
    };
    for (const _second of [0, 1, 2]) {
      said.length = 0;
      for (const status of [200, 404, 499]) await answer(status);
      expect(said, 'of what is no error of the server').to.deep.equal([]);
      for (let count = 0; count < 100; count += 1) {
        await answer(503);
        await answer(200, refusal);
      }
      expect(said).to.have.length(50);
      const text = 'More were answered with a server error, and are not logged.';
      expect(endOfSecond()).to.deep.equal([{ text, leftOutCount: 150 }]);
    }
    for (let count = 0; count < 50; count += 1) await answer(503);
    expect(endOfSecond(), 'where none was left out').to.deep.equal([]);
  });

  it('has whose request it was and how long it took, in ms; the metrics have seconds', async () => {
    const clock = slowClock(1_000_000);
    try {
      const seen: object[] = [];
      const logger = {
        warn: (fields: object) => seen.push(fields),
        isLevelEnabled: () => false,
      } as unknown as Logger;
      let counted: { seconds: number } | undefined;
      const log = observeRequests(logger, (request) => (counted = request), createWarningAllowance(logger));
      const ctx = { method: 'GET', res: { headersSent: true, statusCode: 503 } } as unknown as Parameters<
        typeof log
      >[0];
      await log(ctx, () => {
        ctx.state.caller = { shop: { id: 7 }, keyId: 'k' } as RequestState['caller'];
        ctx.state.route = '/v1/raw-materials';
        clock.advance(1_500);
        return Promise.resolve();
      });
      expect(seen).to.have.length(1);
      expect(seen[0]).to.include({ shopId: 7, keyId: 'k', route: '/v1/raw-materials', method: 'GET', ms: 1_500 });
      expect(counted?.seconds).to.be.closeTo(1.5, 0.1);
    } finally {
      clock.restore();
    }
  });

  it('has why it was a server error in our words, and of what a client sent only the id of a material', async () => {
    const materialId = 'VMAT-VAR-0199d2b0-0000-7000-8000-000000000000';
    const openOutcome = `Look at /v1/raw-materials/${materialId}.`;
    for (const [code, message, variantId, expected] of [
      [
        'SERVICE_UNAVAILABLE',
        'The queue is not reachable.',
        materialId,
        { reason: 'The queue is not reachable.', materialId },
      ],
      ['OUTCOME_UNKNOWN', openOutcome, materialId, { reason: undefined, materialId }],
      ['UPSTREAM_ERROR', 'It does not answer.', '8005', { reason: 'It does not answer.', materialId: '8005' }],
      ['SERVICE_UNAVAILABLE', 'Too many.', 'rmk_by_mistake', { reason: 'Too many.', materialId: undefined }],
      ['SERVICE_UNAVAILABLE', 'Too many.', undefined, { reason: 'Too many.', materialId: undefined }],
      ['INVALID_INPUT', 'There is no "secret".', materialId, {}],
    ] as const) {
      const seen: object[] = [];
      const see = (fields: object) => seen.push(fields);
      const logger = { warn: see, debug: see, isLevelEnabled: () => true } as unknown as Logger;
      const log = observeRequests(logger, () => undefined, createWarningAllowance(logger));
      const ctx = {
        method: 'PATCH',
        res: { headersSent: true, statusCode: statusByCode[code] },
        params: variantId === undefined ? undefined : { variantId },
      } as unknown as Parameters<typeof log>[0];
      await log(ctx, () => {
        ctx.state.reply = { result: fail(code, message) };
        return Promise.resolve();
      });
      expect(seen).to.have.length(1);
      expect(seen[0]).to.include({ code, ...expected });
      if (code === 'INVALID_INPUT') expect(seen[0]).to.not.have.any.keys('reason', 'materialId');
    }
  });
});
