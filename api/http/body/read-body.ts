import bodyParser from 'koa-bodyparser';
import { refuseAt } from '../../../shared/contract/faults.js';
import { fail, unavailable } from '../../../shared/domain/errors.js';
import type { Refusal, Result } from '../../../shared/domain/errors.js';
import { announcesBody, sendContinue } from '../connections/held-back-body.js';
import { callerOf } from '../request-state.js';
import type { AppContext, AppMiddleware } from '../request-state.js';
import type { BodyMemory } from './body-memory.js';
import { jsonType, mergePatchType } from './content-type.js';
import { isCoding } from './inflate.js';
import type { Inflate } from './inflate.js';
import { parseJson } from './parse-json.js';

/** The limit for a body, also after it was inflated (contract §5). */
export const bodyBytesMax = 1_048_576;

/** A body up to this size needs no place, so it never waits: 5,000 connections with such bodies are 80 MB. */
const smallBytesMax = 16_384;

/**
 * Reads and parses the body of a request whose Content-Type was accepted. A large one keeps its place in memory until
 * `leaveBodyMemory`. Errors: UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE, INVALID_INPUT.
 *
 * koa-bodyparser is used only to read a bounded number of bytes, as latin1 text: its own JSON mode lets invalid UTF-8,
 * duplicate keys and any depth pass (reliability §1), and it would inflate a body while that comes in.
 */
export async function readBody(
  ctx: AppContext,
  { memory, inflate }: { memory: BodyMemory; inflate: Inflate },
): Promise<Result<unknown>> {
  const coding = removeEncoding(ctx);
  if (coding !== 'identity' && !isCoding(coding)) return unknownCoding;
  if (Number(ctx.req.headers['content-length']) > bodyBytesMax) return leaveUnread(ctx, tooLarge);
  if (!(await enter(ctx, memory, coding))) return leaveUnread(ctx, noMemory);
  sendContinue(ctx.res);
  try {
    await Promise.race([read(ctx, noNext), brokenOff(ctx)]);
  } catch (error) {
    return refusalOf(ctx, error as Error & { status?: number });
  }
  // Without Content-Length and Transfer-Encoding there is no body, and the parser returns an empty object.
  const { body } = ctx.request;
  const bytes = typeof body === 'string' ? body : '';
  if (coding === 'identity' || bytes === '') return parseAndShrink(ctx, bytes);
  try {
    const inflated = await inflate(Buffer.from(bytes, 'latin1'), coding, bodyBytesMax);
    return parseAndShrink(ctx, inflated.toString('latin1'));
  } catch (error) {
    // All of it was read, so another request could follow; but a client that sends this may as well connect again.
    ctx.state.lastOfConnection = true;
    return (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge : unreadable;
  }
}

/** Frees what a body took when the inner layers are done, whatever became of the request. */
export const leaveBodyMemory: AppMiddleware = async ({ state }, next) => {
  try {
    await next();
  } finally {
    state.bodyPlace?.leave();
  }
};

/** Whether the body may be read: at once if it is known to be small, otherwise when there is a place for it in time. */
async function enter(ctx: AppContext, memory: BodyMemory, coding: string): Promise<boolean> {
  const { headers } = ctx.req;
  const isSizeKnown = coding === 'identity' && headers['content-length'] !== undefined;
  const bytes = isSizeKnown ? Number(headers['content-length']) : bodyBytesMax;
  if (!announcesBody(ctx.req) || bytes <= smallBytesMax) return true;
  ctx.state.bodyPlace = await memory.enter(callerOf(ctx).shop.id, bytes);
  return ctx.state.bodyPlace !== undefined;
}

function parseAndShrink({ state }: AppContext, bytes: string): Result<unknown> {
  state.bodyPlace?.shrinkTo(bytes.length <= smallBytesMax ? 0 : bytes.length);
  return parseJson(bytes);
}

const read = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: [jsonType, mergePatchType] },
  textLimit: String(bodyBytesMax),
  // The name of latin1 under which iconv-lite leaves the work to Node.
  encoding: 'binary',
});

const noNext = () => Promise.resolve();

const tooLarge = fail('PAYLOAD_TOO_LARGE', `The body is larger than ${bodyBytesMax} bytes.`);

const noMemory = unavailable(
  'Too many large bodies are on their way, of this shop or of all; send fewer at once. This request was not applied.',
);

function leaveUnread(ctx: AppContext, refusal: Refusal): Refusal {
  ctx.state.lastOfConnection = true;
  return refusal;
}

/**
 * The content coding of the body, which it takes off the request: otherwise the parser would inflate it. The name may
 * be in any case (RFC 9110 §8.4.1), `x-gzip` is an old name of gzip, and an empty header means none.
 */
function removeEncoding({ req: { headers } }: AppContext): string {
  const name = headers['content-encoding']?.toLowerCase() || 'identity';
  if (headers['content-encoding'] !== undefined) headers['content-encoding'] = 'identity';
  return name === 'x-gzip' ? 'gzip' : name;
}

const unknownCoding = fail('UNSUPPORTED_MEDIA_TYPE', 'Of content encodings only gzip, deflate and br are taken.');

/**
 * Rejects when the request breaks off, or at once if it did, or if the server has answered it already (its body was not
 * HTTP, or too slow): the rest must not be waited for, nor acted upon.
 */
function brokenOff({ req, res }: AppContext): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(Object.assign(new Error('the request broke off'), { status: 400 }));
    if (res.headersSent || req.destroyed) stop();
    else req.once('aborted', stop);
  });
}

function refusalOf(ctx: AppContext, error: Error & { status?: number }): Result<unknown> {
  const { status } = error;
  ctx.state.lastOfConnection = true;
  if (status === 413) return tooLarge;
  // If the client has gone before its body was read, that is not our fault, whatever the parser calls it.
  if (status !== undefined && status >= 500 && !ctx.req.destroyed) throw error;
  return unreadable;
}

const unreadable = refuseAt('', 'The body could not be read: it is cut short, or not in the encoding it claims.');
