import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { createCycleFaults } from '../../../worker/cycle-faults.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;
const givenUp = 'A cycle was given up and is tried again.';
const refused = (statement: string) => new Error(`${statement} - permission denied for table stock`);

describe('a fault of cycles', () => {
  let said: string[] = [];
  beforeEach(() => (said = []));
  const faultsOf = (quietMs: number) => {
    const write = (line: string) => void said.push((JSON.parse(line) as { msg: string }).msg);
    return createCycleFaults(pino({}, { write }), quietMs);
  };
  const untilOver = () => until(() => said.length > 1, { deadlineMs: soonMsMax, what: 'the end to be said' });

  it('is said once for a reason, whatever the statement, in however many cycles, and that it is over', async () => {
    const faults = faultsOf(1);
    for (let count = 0; count < 20; count += 1) faults.gaveUp(refused(`UPDATE ${count}`));
    expect(said).to.deep.equal([givenUp]);
    faults.committed();
    await untilOver();
    faults.committed();
    await sleep(20);
    expect(said).to.deep.equal([givenUp, `This is over: ${givenUp}`]);
    faults.gaveUp(refused('UPDATE'));
    expect(said.at(-1), 'when it comes back').to.equal(givenUp);
  });

  it('is said once though others commit beside it, and another reason at once all the same', async () => {
    const faults = faultsOf(500);
    for (let count = 0; count < 20; count += 1) {
      faults.gaveUp(refused('UPDATE'));
      faults.committed();
    }
    faults.gaveUp(new Error('deadlock detected'));
    faults.gaveUp(refused('UPDATE'));
    expect(said).to.deep.equal([givenUp, givenUp]);
    // No commit has followed it.
    await sleep(600);
    expect(said).to.have.length(2);
  });

  it('is not over because another is', async () => {
    const faults = faultsOf(1);
    faults.waits.failed(new Error('connect ECONNREFUSED 127.0.0.1:5432'));
    faults.committed();
    await sleep(20);
    expect(said).to.have.length(1);
    faults.waits.passed();
    await untilOver();
    expect(said.at(-1)).to.equal('This is over: Nothing is taken until Redis and Postgres take writes of ours.');
  });
});
