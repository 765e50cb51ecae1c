import { isUtf8 } from 'node:buffer';
import { afterRunning } from '../../runtime/running-wait.js';
import { invalid, readReply, readStatus } from './graphql-reply.js';
import type { Attempt } from './graphql-reply.js';

/**
 * One attempt over `fetch`: the request sent, the reply read whole, both within `timeoutMs` in which this process runs:
 * otherwise a long turn of ours would count against the platform, and open its circuit. Never throws for the network.
 *
 * @throws the reason of `signal`, when the caller gives up
 */
export async function postGraphql(request: {
  endpoint: string;
  accessToken: string;
  document: string;
  variables: object;
  timeoutMs: number;
  bodyBytesMax: number;
  signal: AbortSignal | undefined;
  /** Told which version of the API each reply says it is by. */
  hearVersion: (version: string | null) => void;
}): Promise<Attempt> {
  const { endpoint, accessToken, document, variables, timeoutMs, bodyBytesMax, signal, hearVersion } = request;
  signal?.throwIfAborted();
  const body = JSON.stringify({ query: document, variables });
  // A controller and a wait of our own, not AbortSignal.timeout: the wait must cover the body and then be gone.
  const controller = new AbortController();
  const stopWaiting = afterRunning(timeoutMs, () => controller.abort());
  // Nor AbortSignal.any: what it makes stays with the signals that it was made of, and a worker has one for its life.
  const giveUp = () => controller.abort();
  signal?.addEventListener('abort', giveUp);
  let response: Response;
  let text: string | undefined;
  try {
    response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'x-shopify-access-token': accessToken,
      },
      body,
      // Following a redirect would carry the token to wherever the answer says.
      redirect: 'manual',
      signal: controller.signal,
    });
    if (response.status === 200) text = await readCapped(response, bodyBytesMax);
    else await response.body?.cancel();
  } catch (error) {
    signal?.throwIfAborted();
    if (controller.signal.aborted) return { ok: false, error: 'timeout', retry: true, detail: `over ${timeoutMs} ms` };
    return { ok: false, error: 'unavailable', retry: true, detail: networkFault(error) };
  } finally {
    stopWaiting();
    signal?.removeEventListener('abort', giveUp);
  }
  hearVersion(response.headers.get('x-shopify-api-version'));
  if (response.status !== 200) return readStatus(response.status, response.headers.get('retry-after'));
  return text === undefined ? invalid(`the body is over ${bodyBytesMax} bytes or not UTF-8`) : readReply(text);
}

/** The body as text, counted after decompression; undefined when it is over the limit or not UTF-8. */
async function readCapped(response: Response, bytesMax: number): Promise<string | undefined> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // To leave the loop cancels the rest.
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  return isUtf8(whole) ? whole.toString('utf8') : undefined;
}

/** fetch throws a TypeError whose cause says what happened; its code (ECONNREFUSED, ENOTFOUND, …) is all we repeat. */
function networkFault(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? code : 'network error';
}
