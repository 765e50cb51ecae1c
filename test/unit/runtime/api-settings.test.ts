import { expect } from 'chai';
import { arrivalMsMax, lingerMs, settings, settingsProblem } from '../../../api/config.js';
import { readSettings } from '../../../shared/runtime/settings.js';

const servers = { DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host' };

describe('settings of the API', () => {
  // Beyond 2^31 ms a timer of Node ends at once.
  const tooLong = [
    'READ_TIMEOUT_MS',
    'HEADERS_TIMEOUT_MS',
    'REQUEST_TIMEOUT_MS',
    'ANSWER_TIMEOUT_MS',
    'KEEP_ALIVE_TIMEOUT_MS',
    'SHUTDOWN_TIMEOUT_MS',
    'WAIT_MS',
  ].map((name) => [name, '3000000000'] as const);
  for (const [name, text] of [...tooLong, ['RATE_LIMIT_WINDOW_SECONDS', '3000000'] as const]) {
    it(`${name} is refused where no timer is so long`, () => {
      const read = readSettings(settings, { ...servers, [name]: text });
      expect(read.ok ? [] : read.problems)
        .to.have.lengthOf(1)
        .and.satisfy(([problem]: string[]) =>
          problem?.startsWith(`${name} is "${text}", but must be a whole number from`),
        );
    });
  }

  function valuesOf(env: Record<string, string>) {
    const read = readSettings(settings, { ...servers, ...env });
    if (!read.ok) throw new Error(read.problems.join('\n'));
    return read.values;
  }
  const problemOf = (env: Record<string, string>) => settingsProblem(valuesOf(env));

  it('the head of a request may not take longer than the request', () => {
    expect(problemOf({})).to.equal(undefined);
    expect(problemOf({ HEADERS_TIMEOUT_MS: '5000', REQUEST_TIMEOUT_MS: '5000' })).to.equal(undefined);
    expect(problemOf({ REQUEST_TIMEOUT_MS: '5000' })).to.match(
      /^HEADERS_TIMEOUT_MS is 10000, but must not be above REQUEST_TIMEOUT_MS \(5000\)/,
    );
  });

  it('a stop may not be so short that a write which arrives while connections are still kept has not its whole wait', () => {
    const least = { WAIT_MS: '5000', SHUTDOWN_TIMEOUT_MS: '8000' };
    expect(problemOf(least)).to.equal(undefined);
    expect(arrivalMsMax(valuesOf(least))).to.equal(lingerMs);
    expect(problemOf({ ...least, SHUTDOWN_TIMEOUT_MS: '7999' })).to.match(
      /^SHUTDOWN_TIMEOUT_MS is 7999, but must be at least 8000, /,
    );
  });
});
