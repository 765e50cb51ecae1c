import { expect } from 'chai';
import { watchRefusals } from '../../support/http/refusals.js';

describe('refusals', () => {
  it('are a fault where the machine had its CPU, and their reasons are told', async () => {
    const failed: unknown = await watchRefusals(() => Promise.resolve(true))(3, ['late', 'away', 'late']).catch(
      (error: unknown) => error,
    );
    expect(failed).to.be.instanceOf(Error);
    expect((failed as Error).message).to.match(/^refused, on a machine that had its CPU\nlate\naway: expected 3/);
  });

  it('are none where it had not; and it is not asked for where there are none', async () => {
    await watchRefusals(() => Promise.resolve(false))(3);
    await watchRefusals(() => Promise.reject(new Error('asked')))(0);
  });
});
