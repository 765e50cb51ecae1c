import type { AppContext, Reply } from '../request-state.js';
import { isTaken, unsupportedType } from './content-type.js';
import { readBody } from './read-body.js';
import type { Bodies } from './read-body.js';

/**
 * The parsed JSON of a request, or the reply that refuses it: first for its content type or encoding (415), then for
 * its size (413) or because there is no memory for it (503), then for its content (400).
 *
 * @param types the content types that are taken here
 */
export async function readTypedBody(
  ctx: AppContext,
  types: readonly string[],
  bodies: Bodies,
): Promise<{ body: unknown } | { refusal: Reply }> {
  if (!isTaken(ctx.req.headers['content-type'], types)) return { refusal: unsupportedType(types) };
  const read = await readBody(ctx, bodies);
  if (read.ok) return { body: read.data };
  const headers = read.error.code === 'UNSUPPORTED_MEDIA_TYPE' ? unsupportedType(types).headers : undefined;
  return { refusal: { result: read, ...(headers && { headers }) } };
}
