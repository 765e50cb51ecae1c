import { expect } from 'chai';
import { errorExamples } from '../../../api/reference/error-examples.js';
import { replyExamples } from '../../../api/reference/reply-examples.js';
import { useHttpService } from '../../support/http/http-service.js';
import { captureErrors, captureReplies } from '../../support/http/reference-replies.js';

/** If the service has come to answer otherwise, the difference shown by these is what to write into the examples. */
describe('the examples of the OpenAPI document', () => {
  const http = useHttpService();

  it('are what the running service answers to the requests beside them', async () => {
    const values = Object.entries(replyExamples).map(([name, { value }]) => [name, value]);
    expect(Object.fromEntries(values), 'api/reference/reply-examples.ts, against what was answered').to.deep.equal(
      await captureReplies(http),
    );
  });

  it('of errors are what it answers, one for every code', async () => {
    const { meta } = replyExamples.material.value;
    const bodies = Object.entries(errorExamples).map(([code, error]) => [code, { error: { code, ...error }, meta }]);
    expect(Object.fromEntries(bodies), 'api/reference/error-examples.ts, against what was answered').to.deep.equal(
      await captureErrors(http),
    );
  });
});
