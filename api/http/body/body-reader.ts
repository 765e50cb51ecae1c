import type { AppContext, Reply } from '../request-state.js';
import { createBodyMemory } from './body-memory.js';
import { isTaken, unsupportedType } from './content-type.js';
import { createInflate } from './inflate.js';
import { bodyBytesMax, readBody } from './read-body.js';

/**
 * The parsed JSON of a request, or the reply that refuses it: first for its content type or encoding (415), then for
 * its size (413) or because there is no memory for it (503), then for its content (400).
 *
 * @param types the content types that are taken here
 */
export type BodyReader = (ctx: AppContext, types: readonly string[]) => Promise<{ body: unknown } | { refusal: Reply }>;

/**
 * Room for 12 bodies of the largest size from one shop, and for four such shops. What a body is parsed into takes more
 * than its bytes: 300 batches of 810 KB at once took a process to 502 MB without this, and to 254 MB with it.
 */
const memoryLimits = { shopBytesMax: 12 * bodyBytesMax, processBytesMax: 48 * bodyBytesMax, waitMsMax: 3_000 };

/** One for the process, because it bounds what all bodies take together. */
export function createBodyReader(): BodyReader {
  const tools = { memory: createBodyMemory(memoryLimits), inflate: createInflate() };
  return async (ctx, types) => {
    if (!isTaken(ctx.req.headers['content-type'], types)) return { refusal: unsupportedType(types) };
    const read = await readBody(ctx, tools);
    if (read.ok) return { body: read.data };
    const headers = read.error.code === 'UNSUPPORTED_MEDIA_TYPE' ? unsupportedType(types).headers : undefined;
    return { refusal: { result: read, ...(headers && { headers }) } };
  };
}
