import { expect } from 'chai';
import { reasonOf } from '../../../shared/domain/reason-of.js';

describe('the reason of a fault', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:5432');
  const timedOut = new Error('connect ETIMEDOUT ::1:5432');

  const unsent = "Stream isn't writeable and enableOfflineQueue options is false";
  const unanswered =
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.';

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
    ['a command that Redis did not get', new Error(unsent), 'the connection to Redis is lost'],
    ['a command that Redis did not answer', new Error(unanswered), 'the connection to Redis is lost'],
  ] as const) {
    it(`is that of ${what}`, () => {
      expect(reasonOf(fault)).to.equal(reason);
    });
  }
});
