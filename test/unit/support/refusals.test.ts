import { expect } from 'chai';
import { watchRefusals } from '../../support/http/refusals.js';

describe('refusals', () => {
  it('are a fault where the machine had its CPU, and their reasons are told', () => {
    const judge = () => watchRefusals(() => true)(3, ['late', 'away', 'late']);
    expect(judge).to.throw(/^refused, on a machine that had its CPU\nlate\naway: expected 3/);
  });

  it('are none where it had not', () => {
    watchRefusals(() => false)(3);
  });
});
