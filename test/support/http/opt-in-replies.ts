import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
import { reportedBatchResultSchema } from '../../../shared/contract/batch-result.js';
import { successSchema } from '../../../shared/contract/envelope.js';
import { historyPageSchema } from '../../../shared/contract/history-page.js';
import type { HistoryPage } from '../../../shared/contract/history-page.js';
import type { BatchResult } from '../../../shared/domain/batch-result.js';
import type { Answer } from './http.js';
import { checkReply } from './reply.js';

const isHistory = ajv.compile(successSchema(historyPageSchema));
const isReported = ajv.compile(successSchema(reportedBatchResultSchema));

/** `data` of a 200 that is exactly a page of the history. */
export function expectHistory(answer: Answer): HistoryPage {
  return expectDataOf(answer, isHistory) as HistoryPage;
}

/** `data` of a 200 that is exactly a batch result whose ok rows say what they did. */
export function expectReportedBatch(answer: Answer): BatchResult {
  return expectDataOf(answer, isReported) as BatchResult;
}

function expectDataOf(answer: Answer, check: typeof isHistory | typeof isReported): unknown {
  const { status, text } = answer;
  const body = answer.body as { data: unknown };
  checkReply(answer);
  expect(status, text).to.equal(200);
  expect(check(body), `${text}: ${ajv.errorsText(check.errors)}`).to.equal(true);
  return body.data;
}
