import { fail } from '../../shared/domain/errors.js';
import { parseKey } from '../../shared/keys/api-key-format.js';
import type { ClientAddress } from './client-address.js';
import { storageAway } from './errors.js';
import type { FailedAttempts } from './failed-attempts.js';
import type { KeyRing } from './key-ring.js';
import type { AppMiddleware, Reply } from './request-state.js';

export interface AuthenticateDeps {
  keys: KeyRing;
  failures: FailedAttempts;
  clientAddress: ClientAddress;
}

/**
 * `Authorization: Bearer <key>` (spec §Authentication, contract §5). What can be refused without a look-up is: a missing
 * or malformed key, and, from an address that failed too often, every key that this process has not seen to be good.
 * A request that shows no key at all is not counted as a failure: it guesses nothing.
 */
export function authenticate({ keys, failures, clientAddress }: AuthenticateDeps): AppMiddleware {
  return async (ctx, next) => {
    const { state, req } = ctx;
    const token = bearerToken(req.headers.authorization);
    if (token === undefined) {
      state.reply = noKey;
      return;
    }
    const identity = parseKey(token);
    if (identity === undefined || !keys.wasGood(identity)) {
      const retryAfterSeconds = failures.blockedForSeconds(clientAddress(req));
      if (retryAfterSeconds !== undefined) {
        state.reply = tooManyFailures(retryAfterSeconds);
        return;
      }
    }
    const found = identity === undefined ? 'refused' : await keys.find(identity);
    if (found === 'unavailable') {
      state.reply = { result: storageAway };
    } else if (found === 'refused') {
      failures.note(clientAddress(req));
      state.reply = badKey;
    } else {
      const { shop, id, scope } = found;
      state.caller = { shop, keyId: id, scope, channel: 'rest', requestId: state.requestId };
      await next();
    }
  };
}

/** The token of a header `Bearer <token>`, the scheme in any case (RFC 9110 §11.1); undefined for any other scheme. */
function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : bearer.exec(header)?.[1];
}

const bearer = /^bearer +(\S+) *$/i;

const noKey: Reply = {
  result: fail('UNAUTHORIZED', 'Send an API key: Authorization: Bearer <API_KEY>.'),
  headers: { 'WWW-Authenticate': 'Bearer realm="raw-materials"' },
};

/** One answer for a malformed, unknown, expired and revoked key alike: which it is would help only who guesses. */
const badKey: Reply = {
  result: fail('UNAUTHORIZED', 'The API key is not valid.'),
  headers: { 'WWW-Authenticate': 'Bearer realm="raw-materials", error="invalid_token"' },
};

function tooManyFailures(retryAfterSeconds: number): Reply {
  const message = 'Too many requests with invalid API keys came from this address.';
  return { result: fail('RATE_LIMITED', message, { retryAfterSeconds }) };
}
