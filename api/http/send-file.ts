import type { PublicFile } from '../public-file.js';
import type { AppContext } from './request-state.js';

/**
 * Answers GET and HEAD with a file, outside of the envelope (contract §1). Because the names do not change with the
 * content, clients ask again before they use a kept copy (`no-cache`), and get a 304 if it is current.
 */
export async function sendFile({ req, res, state }: AppContext, file: PublicFile): Promise<void> {
  const { plain, gzipped, etag } = await file.content();
  // The server may have answered meanwhile, if what followed the head was not HTTP.
  if (res.headersSent || res.destroyed) return;
  const common = {
    ...file.headers,
    'Cache-Control': 'no-cache',
    ETag: etag,
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': state.requestId,
  };
  if (isKept(req.headers['if-none-match'], etag)) {
    res.writeHead(304, common).end();
    return;
  }
  const isGzip = takesGzip(req.headers['accept-encoding']);
  const body = isGzip ? gzipped : plain;
  res.writeHead(200, {
    ...common,
    'Content-Type': file.type,
    'Content-Length': String(body.length),
    ...(isGzip && { 'Content-Encoding': 'gzip' }),
  });
  // For HEAD Node leaves the body out by itself.
  res.end(body);
}

/** RFC 9110 §13.1.2, compared weakly. */
function isKept(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}

/** Whether gzip itself is named; `gzip;q=0` refuses it. */
function takesGzip(header = ''): boolean {
  return header.split(',').some((coding) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding));
}
