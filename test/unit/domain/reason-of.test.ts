import { expect } from 'chai';
import { reasonOf } from '../../../shared/domain/reason-of.js';

describe('the reason of a fault', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:5432');
  const timedOut = new Error('connect ETIMEDOUT ::1:5432');

  for (const [what, fault, reason] of [
    ['an error', refused, 'connect ECONNREFUSED 127.0.0.1:5432'],
    [
      'each address of a host that failed',
      new AggregateError([refused, timedOut], 'all of them'),
      'connect ECONNREFUSED 127.0.0.1:5432; connect ETIMEDOUT ::1:5432',
    ],
    [
      'a pool without a free connection, which Knex takes for a fault of the program',
      new Error(
        'Knex: Timeout acquiring a connection. The pool is probably full. Are you missing a .transacting(trx) call?',
      ),
      'no connection came free',
    ],
    ['what is no error', 'SIGTERM', 'SIGTERM'],
  ] as const) {
    it(`is that of ${what}`, () => {
      expect(reasonOf(fault)).to.equal(reason);
    });
  }
});
