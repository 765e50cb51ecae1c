import bodyParser from 'koa-bodyparser';
import { fail } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import { jsonType, mergePatchType } from './content-type.js';
import { parseJson } from './parse-json.js';
import type { AppContext } from './request-state.js';

/** Of a body, also after it was inflated (contract §5). */
const bodyBytesMax = 1_048_576;

/**
 * Reads and parses the body of a request whose Content-Type is taken.
 *
 * koa-bodyparser is used for its bounded reading and inflating only: as text, a character for each byte, since its own
 * JSON mode lets invalid UTF-8, duplicate keys and any depth pass, and answers junk in gzip with 500 (reliability §1).
 */
export async function readBody(ctx: AppContext): Promise<Result<unknown>> {
  nameEncoding(ctx);
  const isEncoded = (ctx.req.headers['content-encoding'] ?? 'identity') !== 'identity';
  if (isEncoded) outliveReader(ctx);
  if (isDeclaredTooLarge(ctx)) {
    ctx.state.bodyLeftUnread = true;
    return tooLarge;
  }
  try {
    await Promise.race([read(ctx, nothingNext), brokenOff(ctx)]);
  } catch (error) {
    return refused(ctx, error as Error & { status?: number });
  }
  // Behind the end of what was encoded there is more to come, of which nobody knows yet whether it is a request at all.
  if (isEncoded && !ctx.req.complete) {
    ctx.state.bodyLeftUnread = true;
    return ofBody(unreadable);
  }
  // Without Content-Length and Transfer-Encoding there is no body, and the parser leaves an empty object.
  const { body } = ctx.request;
  return ofBody(parseJson(typeof body === 'string' ? body : ''));
}

const read = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: [jsonType, mergePatchType] },
  textLimit: String(bodyBytesMax),
  // The name of latin1 under which iconv-lite leaves the work to Node.
  encoding: 'binary',
});

const nothingNext = () => Promise.resolve();

const tooLarge = fail('PAYLOAD_TOO_LARGE', `The body is larger than ${bodyBytesMax} bytes.`);

/**
 * Content codings are named in any case (RFC 9110 §8.4.1), gzip by its old name too, and none by an empty header; the parser
 * knows one form of each.
 */
function nameEncoding({ req: { headers } }: AppContext): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined) return;
  const name = encoding.toLowerCase() || 'identity';
  headers['content-encoding'] = name === 'x-gzip' ? 'gzip' : name;
}

/**
 * What inflates a body goes on for a moment after its reader has had enough, and the reader takes its listeners with it: of
 * bytes that turn out to be no gzip then nobody would hear, and that ends a process.
 */
function outliveReader({ req }: AppContext): void {
  const pipe = req.pipe.bind(req);
  req.pipe = <T extends NodeJS.WritableStream>(inflating: T, options?: { end?: boolean }): T => {
    inflating.on('error', () => undefined);
    return pipe(inflating, options);
  };
}

/**
 * The parser would see this too, but not in a length of 2³¹ and more, which it folds into 32 bits: it would then wait for
 * a body that nobody may ever send. An encoding that is not taken is left to it, since 415 goes before 413 (contract §5).
 */
function isDeclaredTooLarge({ req }: AppContext): boolean {
  const encoding = req.headers['content-encoding'] ?? 'identity';
  return encodings.has(encoding) && Number(req.headers['content-length']) > bodyBytesMax;
}

const encodings = new Set(['identity', 'gzip', 'deflate', 'br']);

/**
 * Rejects when the request breaks off, of which one that is being inflated hears nothing, and for one that the server's own
 * events have answered already: nobody may wait for the rest of it, or act upon it.
 */
function brokenOff({ req, res }: AppContext): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => {
      reject(Object.assign(new Error('the request broke off'), { status: 400 }));
    };
    if (res.headersSent || req.destroyed) stop();
    else req.once('aborted', stop);
  });
}

/** Also for bytes that are no gzip, or that end too early: zlib's errors carry no status, and raw-body's own carry 400. */
function refused(ctx: AppContext, error: Error & { status?: number }): Result<unknown> {
  const { status } = error;
  if (status === 415) {
    return fail('UNSUPPORTED_MEDIA_TYPE', 'Of content encodings only gzip, deflate and br are taken.');
  }
  ctx.state.bodyLeftUnread = true;
  if (status === 413) return tooLarge;
  // A client that has gone before its body was read is no fault of ours, whatever the parser calls it.
  if (status !== undefined && status >= 500 && !ctx.req.destroyed) throw error;
  return ofBody(unreadable);
}

const unreadable = fail(
  'INVALID_INPUT',
  'The body could not be read: it is cut short, or not in the encoding it claims.',
);

/** A refusal of the body as a whole names it by the pointer to the whole, the empty one (contract §2, `details`). */
function ofBody(read: Result<unknown>): Result<unknown> {
  if (read.ok || read.error.details !== undefined) return read;
  const { error } = read;
  return { ok: false, error: { ...error, details: [{ path: '', message: error.message }] } };
}
