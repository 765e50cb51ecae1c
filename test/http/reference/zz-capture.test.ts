import { writeFileSync } from 'node:fs';
import { captureErrors, captureReplies } from '../../support/reference-replies.js';
import { useHttpService } from '../../support/http-service.js';
describe('capture', () => {
  const http = useHttpService();
  it('captures', async () => {
    writeFileSync(
      '/tmp/h9/replies.json',
      JSON.stringify({ replies: await captureReplies(http), errors: await captureErrors(http) }, null, 2),
    );
  });
});
