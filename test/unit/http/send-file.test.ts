import { connect } from 'node:net';
import { expect } from 'chai';
import { sendFile } from '../../../api/http/send-file.js';
import type { AppContext } from '../../../api/http/request-state.js';
import type { PublicFile } from '../../../api/public-file.js';
import { createBareServer } from '../../support/http/bare-server.js';
import { textUntilClosed } from '../../support/http/raw-exchange.js';

describe('a public file', () => {
  it('is not sent behind the refusal of a request that turned out to be no HTTP while it was read', async () => {
    let giveContent: () => void = () => undefined;
    const content = new Promise<void>((resolve) => (giveContent = resolve)).then(() => {
      const plain = Buffer.from('the file');
      return { plain, gzipped: plain, etag: 'W/"1"' };
    });
    const file: PublicFile = { type: 'text/plain', headers: {}, content: () => content };
    let sent: Promise<void> | undefined;
    const server = createBareServer((req, res) => {
      sent = sendFile({ req, res, state: { requestId: 'id' } } as unknown as AppContext, file);
    });
    const socket = connect({ port: await server.listen(0, '127.0.0.1'), host: '127.0.0.1' });
    try {
      const closed = textUntilClosed(socket);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
      const text = await closed;
      giveContent();
      await sent;
      expect(text)
        .to.match(/^HTTP\/1\.1 400 /)
        .and.not.contain('the file');
    } finally {
      socket.destroy();
      await server.close();
    }
  });
});
