import { expect } from 'chai';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerBefore } from '../../../../api/http/connections/pipelined.js';

const request = (method: string) => ({ method }) as unknown as IncomingMessage;
const open = (...methods: string[]) => methods.map((method) => ({ req: request(method) }) as unknown as ServerResponse);

describe('a request behind others on its connection', () => {
  for (const [before, method] of [
    [[], 'PATCH'],
    [['GET', 'HEAD'], 'GET'],
    [['GET'], 'HEAD'],
  ] as const) {
    it(`waits for none: ${method} behind [${before.join()}]`, () => {
      expect(answerBefore(open(...before), request(method))).to.equal(undefined);
    });
  }

  for (const [before, method] of [
    [['GET'], 'PATCH'],
    [['PATCH'], 'GET'],
    [['PATCH', 'GET'], 'GET'],
    [['GET', 'POST'], 'OPTIONS'],
  ] as const) {
    it(`waits for the last of them: ${method} behind [${before.join()}]`, () => {
      const answers = open(...before);
      expect(answerBefore(answers, request(method))).to.equal(answers.at(-1));
    });
  }
});
