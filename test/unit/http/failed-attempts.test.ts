import { expect } from 'chai';
import { createFailedAttempts } from '../../../api/http/failed-attempts.js';

describe('failed authentications of an address', () => {
  it('block it from the sixtieth in a minute on, until the minute ends', () => {
    let nowMs = 1_000;
    const failures = createFailedAttempts(() => nowMs);
    for (let attempt = 0; attempt < 59; attempt += 1) failures.note('192.0.2.1');
    expect(failures.blockedForSeconds('192.0.2.1')).to.equal(undefined);
    nowMs += 10_500;
    failures.note('192.0.2.1');
    expect(failures.blockedForSeconds('192.0.2.1')).to.equal(50);
    expect(failures.blockedForSeconds('192.0.2.2')).to.equal(undefined);
    nowMs += 49_500;
    expect(failures.blockedForSeconds('192.0.2.1')).to.equal(undefined);
    failures.note('192.0.2.1');
    expect(failures.blockedForSeconds('192.0.2.1')).to.equal(undefined);
  });
});
