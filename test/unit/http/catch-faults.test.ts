import { expect } from 'chai';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { answerFault } from '../../../api/http/catch-faults.js';
import { answerToBatch, answerToUpdate } from '../../../api/operations/dispatch-answer.js';
import { restWording } from '../../../api/rest/wording.js';
import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import type { VersionedMaterial } from '../../../shared/domain/material.js';

const about = { requestId: '0199d2b0-0000-7000-8000-000000000000', route: '/v1' };
const asked = {
  materialId: 'VMAT-1',
  requestId: about.requestId,
  hasKey: false,
  fieldsOnly: false,
  dryRun: false,
  wording: restWording,
};

describe('the answer to a fault', () => {
  let isMigrated = true;
  const answerTo = (work: () => unknown, logger: Logger = pino({ level: 'silent' })) => {
    try {
      work();
    } catch (error) {
      return answerFault({ logger, isStorageReady: () => isMigrated }, error, about).error;
    }
    throw new Error('nothing was thrown');
  };

  it('does not say that it was not applied where it came between a change and its answer', () => {
    const adjusted: DispatchOutcome = {
      status: 'executed',
      replayed: false,
      result: { kind: 'adjusted', rowCount: 1, failures: [] },
    };
    const updated: DispatchOutcome = {
      status: 'executed',
      replayed: false,
      result: { kind: 'updated', ...({ material: {}, version: 1 } as VersionedMaterial) },
    };
    for (const work of [() => answerToBatch(updated, asked, []), () => answerToUpdate(adjusted, asked)]) {
      const { code, message } = answerTo(work);
      expect(code).to.equal('OUTCOME_UNKNOWN');
      expect(message).not.to.match(/not applied/i);
    }
  });

  it('is 503 for a table that is missing where nobody has migrated yet, and 500 where somebody has', () => {
    const missing = Object.assign(new Error('relation "api_keys" does not exist'), { code: '42P01' });
    const codes = [false, true].map((migrated) => {
      isMigrated = migrated;
      return answerTo(() => {
        throw missing;
      }).code;
    });
    expect(codes).to.deep.equal(['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR']);
  });

  it('is 503 where Postgres is away, and 500 for any other', () => {
    const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    const codeOf = (error: Error) =>
      answerTo(() => {
        throw error;
      }).code;
    expect([away, new Error('of ours')].map(codeOf)).to.deep.equal(['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR']);
  });

  it('is an error in the log where the fault is ours, and a warning where Postgres is at fault', () => {
    const levels = [
      new Error('of ours'),
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
      new Error('Query read timeout'),
    ].map((error) => {
      let line = '';
      const work = () => {
        throw error;
      };
      answerTo(work, pino({}, { write: (text) => (line += text) }));
      return pino.levels.labels[(JSON.parse(line) as { level: number }).level];
    });
    expect(levels).to.deep.equal(['error', 'warn', 'warn']);
  });

  it('is found in the log by the id that its client has, with the route that met it', () => {
    for (const error of [
      new Error('of ours'),
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
      new Error('Query read timeout'),
    ]) {
      let line = '';
      const work = () => {
        throw error;
      };
      answerTo(work, pino({}, { write: (text) => (line += text) }));
      expect(JSON.parse(line), error.message)
        .to.include(about)
        .and.to.have.nested.property('err.message', error.message);
    }
  });

  const said = (error: Error) => {
    let line = '';
    const logger = pino({}, { write: (text) => (line += text) });
    const { message, retryAfterSeconds } = answerTo(() => {
      throw error;
    }, logger);
    expect(retryAfterSeconds).to.equal(1);
    return [message, (JSON.parse(line) as { msg: string }).msg];
  };

  it('calls Postgres away, to the client or in the log, only where it is: not for one read that took too long', () => {
    expect(said(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))).to.deep.equal([
      'The service cannot use its database at the moment. This request was not applied.',
      'Postgres is away.',
    ]);
    const endedByServer = ['57014', '55P03'].map((code) => Object.assign(new Error('canceling statement'), { code }));
    for (const error of [new Error('Query read timeout'), ...endedByServer])
      expect(said(error), error.message).to.deep.equal([
        'The database took too long to answer. This request was not applied.',
        'Postgres did not answer a read in time.',
      ]);
  });

  it('is that Postgres cannot be used where it refuses a read, which the log does not call away', () => {
    expect(said(Object.assign(new Error('permission denied for table bills'), { code: '42501' }))).to.deep.equal([
      'The service cannot use its database at the moment. This request was not applied.',
      'Postgres refuses a read.',
    ]);
  });
});
