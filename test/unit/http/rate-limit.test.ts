import { expect } from 'chai';
import { rateLimit } from '../../../api/http/rate-limit.js';
import type { RequestState } from '../../../api/http/request-state.js';

describe('the limit of a shop', () => {
  it('tells nobody to come again in no time, also where its window ends at this moment', async () => {
    const taken = { admitted: false, remaining: 0, resetSeconds: 0, policy: '"shop";q=1;w=60' };
    const check = rateLimit({ take: () => Promise.resolve(taken) });
    const state = { headers: {}, caller: { shop: {} } } as unknown as RequestState;
    await check({ state } as unknown as Parameters<typeof check>[0], () => Promise.reject(new Error('admitted')));
    expect(state.headers['RateLimit']).to.equal('"shop";r=0;t=0');
    expect(state.reply?.result).to.have.property('error').that.includes({ retryAfterSeconds: 1 });
  });
});
