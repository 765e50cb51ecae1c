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

  it('leave so many places to look-ups under way, and who waits for one hears when there may be one', async () => {
    const failures = createFailedAttempts();
    const address = '192.0.2.1';
    for (let attempt = 0; attempt < 58; attempt += 1) failures.note(address);
    const [endOne, endOther] = [failures.begin(address), failures.begin(address)];
    expect(failures.begin(address)).to.equal(undefined);
    expect(failures.begin('192.0.2.2')).to.not.equal(undefined);
    const told: string[] = [];
    const waiting = failures.untilSomeEnd(address, 60_000).then(() => told.push('told'));
    failures.note(address);
    endOne?.();
    await Promise.resolve();
    expect(told, 'one that failed leaves no place').to.deep.equal([]);
    expect(failures.begin(address)).to.equal(undefined);
    endOther?.();
    await waiting;
    expect(failures.begin(address)).to.not.equal(undefined);
  });
});
