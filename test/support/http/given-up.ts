import { expect } from 'chai';
import { withLockedTable } from '../database/broken-storage.js';
import { ask } from './http-service.js';
import type { Asked } from './http.js';
import type { HttpService } from './http-service.js';
import { expectData, expectError } from './reply.js';
import { until } from '../time/until.js';

/** Short, so that the test is short; a slow machine may then exceed it by itself for a while. */
const readMsMax = 300;
const againMsMax = 20_000;

/** Reads a table that is locked: 503 with a Retry-After, and the same read is answered once the table is free. */
export async function expectGivenUp(
  http: HttpService,
  { table, asked, kind }: { table: string; asked: Asked; kind: Parameters<typeof expectData>[1] },
): Promise<void> {
  await http.withApi({ READ_TIMEOUT_MS: String(readMsMax) }, async ({ baseUrl }) => {
    const givenUp = await withLockedTable(http.database, table, () => ask(baseUrl, asked));
    expectError(givenUp, 'SERVICE_UNAVAILABLE');
    expect(Number(givenUp.headers['retry-after'])).to.be.at.least(1);
    const answerOf200 = async () => {
      const answer = await ask(baseUrl, asked);
      return answer.status === 200 && answer;
    };
    expectData(await until(answerOf200, { deadlineMs: againMsMax, what: 'the read to be answered again' }), kind);
  });
}
