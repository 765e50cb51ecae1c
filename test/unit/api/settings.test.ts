import { expect } from 'chai';
import { apiSettings, arrivalMsMax, lingerMs, settingsProblems } from '../../../api/config.js';
import { readSettings } from '../../../shared/runtime/settings.js';
import { runShipped, shipped } from '../../support/processes/run-shipped.js';

const servers = { DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host' };

describe('settings of the API', () => {
  // A Node timer set beyond 2^31 ms fires at once.
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
      const read = readSettings(apiSettings, { ...servers, [name]: text });
      expect(read.ok ? [] : read.problems)
        .to.have.lengthOf(1)
        .and.satisfy(([problem]: string[]) =>
          problem?.startsWith(`${name} is "${text}", but must be a whole number from`),
        );
    });
  }

  function valuesOf(env: Record<string, string>) {
    const read = readSettings(apiSettings, { ...servers, ...env });
    if (!read.ok) throw new Error(read.problems.join('\n'));
    return read.values;
  }
  const problemsOf = (env: Record<string, string>) => settingsProblems(valuesOf(env));
  const problemOf = (env: Record<string, string>) => problemsOf(env)[0];

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

  it('one shop may not hold more writes than all may', () => {
    expect(problemOf({ IN_FLIGHT_SHOP_MAX: '3000' })).to.equal(undefined);
    expect(problemOf({ IN_FLIGHT_SHOP_MAX: '3001' })).to.match(
      /^IN_FLIGHT_SHOP_MAX is 3001, but must not be above IN_FLIGHT_MAX \(3000\)/,
    );
  });

  it('no platform on the loopback is let in where it is production', () => {
    const loopback = { PLATFORM_ALLOW_LOOPBACK: 'true' };
    expect(problemOf({ ...loopback, NODE_ENV: 'development' })).to.equal(undefined);
    expect(problemOf({ NODE_ENV: 'production' })).to.equal(undefined);
    expect(problemOf({ ...loopback, NODE_ENV: 'production' })).to.match(
      /^PLATFORM_ALLOW_LOOPBACK is true, but must not/,
    );
  });

  for (const entry of ['api/main.js', 'worker/main.js', 'shared/manage/main.js']) {
    it(`${entry} does not start in production where a platform on the loopback is let in`, async () => {
      const env = { ...servers, NODE_ENV: 'production', PLATFORM_ALLOW_LOOPBACK: 'true' };
      const { code, stderr } = await runShipped(`await import('${shipped(entry)}');`, { env });
      expect(code, stderr).to.equal(78);
      expect(stderr).to.match(/^The environment is not usable:\n {2}- PLATFORM_ALLOW_LOOPBACK is true, .*\n$/);
    });
  }

  it('what contradicts is told all at once, and not one at each start', () => {
    const all = { REQUEST_TIMEOUT_MS: '5000', SHUTDOWN_TIMEOUT_MS: '100', IN_FLIGHT_MAX: '1' };
    expect(problemsOf(all)).to.have.lengthOf(3);
  });
});
