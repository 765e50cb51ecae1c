import { expect } from 'chai';
import { createAnswerLimit } from '../../../../api/http/connections/answer-limit.js';
import type { AnswerLimit } from '../../../../api/http/connections/answer-limit.js';

const [connectionMax, processMax] = [600, 10_000];

describe('the answers that are open at once', () => {
  let limit: AnswerLimit;
  beforeEach(() => (limit = createAnswerLimit()));

  function connect() {
    const connection = { destroyed: false, open: 0, destroy: () => (connection.destroyed = true) };
    return connection as typeof connection & Parameters<AnswerLimit['admitOrCutOff']>[0];
  }
  /** How many of so many requests were taken. */
  function send(connection: ReturnType<typeof connect>, count: number): number {
    const before = connection.open;
    for (let sent = 0; sent < count; sent += 1) {
      if (!limit.admitOrCutOff(connection, connection.open)) continue;
      connection.open += 1;
      limit.opened();
    }
    return connection.open - before;
  }

  it('of a connection are bounded: beyond that it is cut off, and nothing more of it is taken', () => {
    const client = connect();
    expect(send(client, connectionMax)).to.equal(connectionMax);
    expect(client.destroyed).to.equal(false);
    expect(send(client, 1)).to.equal(0);
    expect(client.destroyed).to.equal(true);
    limit.closed(client.open);
    client.open = 0;
    expect(send(client, 1)).to.equal(0);
  });

  it('of all are bounded: then whoever sends ahead is cut off, and who waits for each answer is not', () => {
    for (let count = 0; count < processMax; count += connectionMax / 2) send(connect(), connectionMax / 2);
    const [patient, ahead] = [connect(), connect()];
    expect(send(patient, 1)).to.equal(1);
    expect(send(ahead, 2)).to.equal(1);
    expect([patient.destroyed, ahead.destroyed]).to.deep.equal([false, true]);
    limit.closed(connectionMax);
    expect(send(patient, 10)).to.equal(10);
  });
});
