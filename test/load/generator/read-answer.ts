/** What a service said. */
export interface Answer {
  status: number;
  /** A 200 that lists no failed row. */
  allRowsOk: boolean;
  /** Whether it says when to come again. */
  hasRetryAfter: boolean;
  /** Whether the connection ends with it. */
  isLast: boolean;
  body: Buffer;
}

const headEndMark = '\r\n\r\n';
const lineEndMark = '\r\n';

/** Undefined until the whole answer is there; a string says why the bytes are no answer. */
export function readAnswer(bytes: Buffer): Answer | string | undefined {
  const headEnd = bytes.indexOf(headEndMark);
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  if (!head.startsWith('HTTP/1.1 ')) return `not an answer of HTTP/1.1: ${JSON.stringify(head.slice(0, 80))}`;
  const body = readBody(bytes, head, headEnd + headEndMark.length);
  if (body === undefined || typeof body === 'string') return body;
  const status = Number(head.slice(9, 12));
  return {
    status,
    allRowsOk: status === 200 && body.includes('"failedCount":0,'),
    hasRetryAfter: status !== 200 && /\r\nretry-after: *\d/i.test(head),
    isLast: /\r\nconnection: *close/i.test(head),
    body,
  };
}

function readBody(bytes: Buffer, head: string, start: number): Buffer | string | undefined {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const end = start + Number(length);
    return bytes.length < end ? undefined : bytes.subarray(start, end);
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return readChunks(bytes, start);
  return /^HTTP\/1\.1 (204|304) /.test(head) ? bytes.subarray(start) : 'an answer that does not say how long it is';
}

/** The service gives a length; a proxy in front of it may cut the same body into chunks. */
function readChunks(bytes: Buffer, start: number): Buffer | string | undefined {
  const chunks: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf(lineEndMark, at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) return 'a chunk without a size';
    const chunk = lineEnd + lineEndMark.length;
    at = chunk + size + lineEndMark.length;
    // Trailers are not read: nothing here sends any.
    if (bytes.length < at) return undefined;
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(chunk, chunk + size));
  }
}
