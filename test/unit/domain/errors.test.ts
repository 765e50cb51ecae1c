import { expect } from 'chai';
import { unavailable } from '../../../shared/domain/errors.js';

describe('the refusal of what may pass at any moment', () => {
  it('is a 503 that may be tried again after a second', () => {
    expect(unavailable('Not now.')).to.deep.equal({
      ok: false,
      error: { code: 'SERVICE_UNAVAILABLE', message: 'Not now.', retryAfterSeconds: 1 },
    });
  });
});
