import { expect } from 'chai';
import { CertificateFault, isTransient, outageSentence } from '../../../shared/database/errors.js';

const withCode = (code: string, constraint?: string) => Object.assign(new Error('from Postgres'), { code, constraint });

describe('an error of the database', () => {
  const passing: [what: string, error: unknown][] = [
    ['a serialisation failure', withCode('40001')],
    ['a deadlock', withCode('40P01')],
    ['a lock that was not to be had', withCode('55P03')],
    ['a statement timeout', withCode('57014')],
    ['a server that shuts down', withCode('57P01')],
    ['a server that starts', withCode('57P03')],
    ['a lost connection', withCode('08006')],
    ['too many connections', withCode('53300')],
    ['a database that takes no connections', withCode('55000')],
    ['a full disk', withCode('58030')],
    ['a standby', withCode('25006')],
    ['a password that was changed', withCode('28P01')],
    ['a password that is missing', new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string')],
    ['a database that is gone', withCode('3D000')],
    ['a right that was taken away', withCode('42501')],
    ['a refused connection', withCode('ECONNREFUSED')],
    ['a network that is away', withCode('ENETUNREACH')],
    ['a socket that is not there', Object.assign(withCode('ENOENT'), { syscall: 'connect' })],
    ['a server without TLS', new Error('The server does not support SSL connections')],
    ['a certificate that has ended', withCode('CERT_HAS_EXPIRED')],
    ['a certificate of nobody known', withCode('DEPTH_ZERO_SELF_SIGNED_CERT')],
    ['a certificate of ours that is half written', withCode('ERR_OSSL_PEM_NO_START_LINE')],
    ['one that cannot be opened', new CertificateFault('ENOENT: no such file or directory')],
    ['a process without files to open', withCode('EMFILE')],
    ['an operation that is on record already', withCode('23505', 'operations_pkey')],
    ['a connection that ended', new Error('Connection terminated unexpectedly')],
    ['a silence', new Error('Query read timeout')],
    ['a silence, as Knex tells it', new Error('SELECT 1 - Query read timeout')],
    ['a full pool', new Error('no connection came free')],
    ['a full pool, as Knex tells it', new Error('Knex: Timeout acquiring a connection. The pool is probably full.')],
    ['every address refused', new AggregateError([withCode('ECONNREFUSED'), withCode('ECONNREFUSED')])],
  ];
  for (const [what, error] of passing) {
    it(`is worth another try: ${what}`, () => {
      expect(isTransient(error)).to.equal(true);
    });
  }

  const lasting: [what: string, error: unknown][] = [
    ['a violated check', withCode('23514', 'ledger_sum')],
    ['another unique key', withCode('23505', 'ledger_op_row_key')],
    ['a syntax error', withCode('42601')],
    ['a file that is not there', Object.assign(withCode('ENOENT'), { syscall: 'open' })],
    ['invalid text', withCode('22021')],
    ['a fault in our code', new TypeError('x is not a function')],
    ['one that only quotes a failure', new Error('the client sent "Query read timeout"')],
    ['a mix of failures', new AggregateError([withCode('ECONNREFUSED'), withCode('42601')])],
    ['what is no error', 'Connection terminated'],
    ['nothing', undefined],
  ];
  for (const [what, error] of lasting) {
    it(`is not: ${what}`, () => {
      expect(isTransient(error)).to.equal(false);
    });
  }

  it('is told with whether the server answered, and refuses us, without the statement that Knex puts before', () => {
    const answer = Object.assign(new Error('SELECT 1 - the disk is full'), { severity: 'ERROR' });
    expect(outageSentence(answer)).to.equal('The database could not do it: the disk is full.');
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:1');
    expect(outageSentence(refused)).to.equal('The database could not be reached: connect ECONNREFUSED 127.0.0.1:1.');
    const denied = Object.assign(new Error('SELECT 1 - permission denied'), { code: '42501', severity: 'ERROR' });
    expect(outageSentence(denied)).to.equal('The database refuses us: permission denied.');
  });
});
