import { expect } from 'chai';
import { operationsJob } from '../../../shared/queue/job-format.js';
import { readJobs } from '../../../worker/read-jobs.js';

describe('a job that a lane holds', () => {
  const isMisdirected = (database: { ofJob?: string; ofWorker?: string }) => {
    const data = JSON.stringify(operationsJob('api', [], database.ofJob));
    const held = [{ queue: '1.VMAT-VAR-a', token: 'token', jobs: [{ id: 'job', data, deliveries: 1 }] }];
    return readJobs(held, database.ofWorker).map((job) => job.isMisdirected);
  };

  it('is misdirected where it is for another database than the worker writes to', () => {
    expect(isMisdirected({ ofJob: '7.5', ofWorker: '8.5' })).to.deep.equal([true]);
    expect(isMisdirected({ ofJob: '7.5', ofWorker: '7.5' })).to.deep.equal([false]);
  });

  it('is not, where one of the two is not known: the role may not ask, or the release before has queued it', () => {
    expect(isMisdirected({ ofJob: '7.5' })).to.deep.equal([false]);
    expect(isMisdirected({ ofWorker: '7.5' })).to.deep.equal([false]);
  });
});
