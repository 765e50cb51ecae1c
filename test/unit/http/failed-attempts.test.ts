import { setImmediate as nextTurn } from 'node:timers/promises';
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

  it('are remembered of the last 20,000 addresses, however many there are', () => {
    const failures = createFailedAttempts();
    const block = (address: string) => {
      for (let attempt = 0; attempt < 60; attempt += 1) failures.note(address);
    };
    block('192.0.2.1');
    for (let other = 1; other < 20_000; other += 1) failures.note(`other ${other}`);
    expect(failures.blockedForSeconds('192.0.2.1')).to.equal(60);
    block('192.0.2.2');
    for (let more = 0; more < 20_000; more += 1) failures.note(`more ${more}`);
    expect(failures.blockedForSeconds('192.0.2.2')).to.equal(undefined);
  });

  it('leave so many places to look-ups under way, and who waits for one hears when there may be one', async () => {
    const failures = createFailedAttempts();
    const address = '192.0.2.1';
    for (let attempt = 0; attempt < 58; attempt += 1) failures.note(address);
    const [endOne, endOther] = [failures.begin(address), failures.begin(address)];
    expect(failures.begin(address)).to.equal(undefined);
    expect(failures.begin('192.0.2.2')).to.not.equal(undefined);
    const told: string[] = [];
    const waiting = failures.untilSomeEnd(address).then(() => told.push('told'));
    failures.note(address);
    endOne?.();
    await nextTurn();
    expect(told, 'one that failed leaves no place').to.deep.equal([]);
    expect(failures.begin(address)).to.equal(undefined);
    endOther?.();
    await nextTurn();
    expect(told, 'the other has left its place').to.deep.equal(['told']);
    await waiting;
    expect(failures.begin(address)).to.not.equal(undefined);
  });

  it('tell who waits once for each place that is left: who comes after that waits for the next', async () => {
    const failures = createFailedAttempts();
    const address = '192.0.2.1';
    for (let attempt = 0; attempt < 58; attempt += 1) failures.note(address);
    const [endOne, endOther] = [failures.begin(address), failures.begin(address)];
    endOne?.();
    const endThird = failures.begin(address);
    let isTold = false;
    const waiting = failures.untilSomeEnd(address).then(() => (isTold = true));
    await nextTurn();
    expect(isTold, 'that place is taken again').to.equal(false);
    for (const end of [endOther, endThird]) end?.();
    await waiting;
  });

  it('keep nothing of an address whose look-ups have all ended: there is none to wait for', async () => {
    const failures = createFailedAttempts();
    const address = '192.0.2.1';
    for (let attempt = 0; attempt < 3; attempt += 1) failures.begin(address)?.();
    let isTold = false;
    const waiting = failures.untilSomeEnd(address).then(() => (isTold = true));
    await nextTurn();
    expect(isTold).to.equal(true);
    await waiting;
  });

  it('tell who waits as well that the address is blocked now', async () => {
    const failures = createFailedAttempts();
    const address = '192.0.2.1';
    for (let attempt = 0; attempt < 59; attempt += 1) failures.note(address);
    const end = failures.begin(address);
    let isTold = false;
    void failures.untilSomeEnd(address).then(() => (isTold = true));
    failures.note(address);
    end?.();
    await nextTurn();
    expect(isTold).to.equal(true);
    expect(failures.blockedForSeconds(address)).to.equal(60);
  });
});
