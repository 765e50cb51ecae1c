import type { IncomingMessage } from 'node:http';
import type { KeyWithShop } from '../../shared/database/api-keys.js';
import { fail, unavailable } from '../../shared/domain/errors.js';
import { parseKey } from '../../shared/keys/api-key-format.js';
import type { KeyIdentity } from '../../shared/keys/api-key-format.js';
import { startRunningWait } from '../../shared/runtime/running-wait.js';
import { storageAway } from '../fault-answers.js';
import type { ClientAddress } from './client-address.js';
import { networkOf } from './client-network.js';
import type { FailedAttempts } from './failed-attempts.js';
import { lookUpMsMax } from './key-ring.js';
import type { KeyRing } from './key-ring.js';
import type { AppMiddleware, Reply } from './request-state.js';

export interface AuthenticateDeps {
  keys: KeyRing;
  failures: FailedAttempts;
  clientAddress: ClientAddress;
}

/**
 * `Authorization: Bearer <key>` (spec §Authentication, contract §5). Refuses without a look-up what it can: a missing
 * or malformed key and, from an address that failed too often, every key that was not good when this process last
 * looked. A request without a key is not counted as a failure, because it guesses nothing.
 */
export function authenticate({ keys, failures, clientAddress }: AuthenticateDeps): AppMiddleware {
  async function find(identity: KeyIdentity | undefined, req: IncomingMessage): Promise<KeyWithShop | Reply> {
    const wasGood = () => identity !== undefined && keys.wasGood(identity);
    const from = () => networkOf(clientAddress(req));
    const place = wasGood() ? noPlace : await takePlace(failures, from(), wasGood);
    if ('result' in place) return place;
    try {
      const found = identity === undefined ? 'refused' : await keys.find(identity);
      if (found === 'unavailable') return { result: storageAway };
      if (found !== 'refused') return found;
      failures.note(from());
      return badKey;
    } finally {
      place.leave();
    }
  }

  return async (ctx, next) => {
    const { state, req } = ctx;
    const token = bearerToken(req.headers.authorization);
    if (token === undefined) {
      state.reply = noKey;
      return;
    }
    const found = await find(parseKey(token), req);
    if ('result' in found) {
      state.reply = found;
      return;
    }
    const { shop, id, scope } = found;
    state.caller = { shop, keyId: id, scope, channel: 'rest', requestId: state.requestId };
    await next();
  };
}

/** How long a request waits for a place: longer than a look-up may take, so that some places have come free. */
const placeMsMax = lookUpMsMax + 100;

interface Place {
  leave: () => void;
}

/** A key that is known to be good is no guess, and needs no place. */
const noPlace: Place = { leave: () => undefined };

/**
 * Takes one of the places of an address, of which there are as many as failures that it may still have; refuses if that
 * is none. Without places, 3,000 guesses sent in one write were all looked up before the first was counted, and for
 * nine seconds no other key could be. If all places are taken, a request waits: most that come at once have good keys.
 */
async function takePlace(failures: FailedAttempts, address: string, wasGood: () => boolean): Promise<Place | Reply> {
  const wait = startRunningWait(placeMsMax);
  try {
    while (!wasGood()) {
      const retryAfterSeconds = failures.blockedForSeconds(address);
      if (retryAfterSeconds !== undefined) return tooManyFailures(retryAfterSeconds);
      const leave = failures.begin(address);
      if (leave !== undefined) return { leave };
      if (wait.isOver()) return placesTaken;
      await wait.within(failures.untilSomeEnd(address), undefined);
    }
    return noPlace;
  } finally {
    wait.stop();
  }
}

const placesTaken: Reply = {
  result: unavailable(
    'Too many API keys from this address are being looked up at the moment. This request was not applied.',
  ),
};

/**
 * The token of a header `Bearer <token>`, the scheme in any case (RFC 9110 §11.1); undefined for any other scheme. With
 * a blank in it, it is a malformed token, and not none. (Node has taken off what is blank at the end.)
 */
function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : bearer.exec(header)?.[1];
}

const bearer = /^bearer +(.+)$/i;

const noKey: Reply = {
  result: fail('UNAUTHORIZED', 'Send an API key: Authorization: Bearer <API_KEY>.'),
  headers: { 'WWW-Authenticate': 'Bearer realm="raw-materials"' },
};

/** The same for a malformed, unknown, expired and revoked key: which of them it is would help only those who guess. */
const badKey: Reply = {
  result: fail('UNAUTHORIZED', 'The API key is not valid.'),
  headers: { 'WWW-Authenticate': 'Bearer realm="raw-materials", error="invalid_token"' },
};

function tooManyFailures(retryAfterSeconds: number): Reply {
  const message = 'Too many requests with invalid API keys came from this address.';
  return { result: fail('RATE_LIMITED', message, { retryAfterSeconds }) };
}
