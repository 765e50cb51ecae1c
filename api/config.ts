import { loopbackProblems, platformSettings } from '../shared/platform/platform-settings.js';
import { processSettings, rateLimitSettings } from '../shared/runtime/process-settings.js';
import type { SettingsDeclaration, SettingsValues } from '../shared/runtime/settings.js';
import { dispatchSettings, graceMs } from './dispatch/settings.js';
import { trustedProxiesProblem } from './trusted-proxies.js';

/** Nobody counts attempts on the admin port, so the token must withstand guessing. */
const adminTokenMin = 16;

/** The bound of all timeouts: a Node timer set beyond 2^31 ms fires at once, and would cut off every query or stop. */
const dayMs = 86_400_000;

const timeoutSetting = (defaultMs: number, description: string) =>
  ({ type: 'integer', default: defaultMs, minimum: 100, maximum: dayMs, description }) as const;

/** The environment of the API process. */
export const apiSettings = {
  ...processSettings,
  ...platformSettings,
  HOST: { type: 'string', default: '127.0.0.1', description: 'The address to listen on; 0.0.0.0 for every one.' },
  PORT: { type: 'integer', default: 3_000, minimum: 0, maximum: 65_535, description: 'The port; 0 takes a free one.' },
  ADMIN_TOKEN: {
    type: 'string',
    secret: true,
    check: (token) => (token.length >= adminTokenMin ? undefined : `must have at least ${adminTokenMin} characters`),
    description: `What opens /queues on the admin port, ${adminTokenMin} characters or more; without it there is no such page.`,
  },
  API_INSTANCES: {
    type: 'integer',
    default: 1,
    minimum: 1,
    description: 'API processes that run at once: each grants its share of the rate limit while Redis is away.',
  },
  TRUSTED_PROXIES: {
    type: 'string',
    default: '',
    check: trustedProxiesProblem,
    description: 'Addresses and CIDR ranges whose X-Forwarded-For is believed, separated by commas; by default none.',
  },
  ...rateLimitSettings,
  DATABASE_POOL_MAX: {
    type: 'integer',
    default: 10,
    minimum: 2,
    description: 'Postgres connections of the process: three at most for its own questions, the others for reads.',
  },
  READ_TIMEOUT_MS: timeoutSetting(5_000, 'The longest that a query of a read may take.'),
  HEADERS_TIMEOUT_MS: timeoutSetting(10_000, 'The longest that the head of a request may take to arrive.'),
  REQUEST_TIMEOUT_MS: timeoutSetting(30_000, 'The longest that a whole request may take to arrive.'),
  ANSWER_TIMEOUT_MS: timeoutSetting(
    60_000,
    'The longest that a client may take to read an answer; then its connection is ended.',
  ),
  KEEP_ALIVE_TIMEOUT_MS: timeoutSetting(
    65_000,
    "How long an idle connection is kept; longer than a load balancer's own 60 s.",
  ),
  MAX_CONNECTIONS: { type: 'integer', default: 5_000, minimum: 1, description: 'Client connections at once.' },
  SHUTDOWN_TIMEOUT_MS: timeoutSetting(
    20_000,
    'The longest that a stop may take before it is forced; at least `WAIT_MS` and 3 s.',
  ),
  ...dispatchSettings,
} as const satisfies SettingsDeclaration;

export type ApiSettings = SettingsValues<typeof apiSettings>;

/** Contradictions between settings that are each valid alone, a sentence for each. */
export function settingsProblems(settings: ApiSettings): string[] {
  const { HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS, SHUTDOWN_TIMEOUT_MS, WAIT_MS } = settings;
  const { IN_FLIGHT_SHOP_MAX, IN_FLIGHT_MAX } = settings;
  const problems = loopbackProblems(settings);
  if (HEADERS_TIMEOUT_MS > REQUEST_TIMEOUT_MS) {
    problems.push(
      `HEADERS_TIMEOUT_MS is ${HEADERS_TIMEOUT_MS}, but must not be above REQUEST_TIMEOUT_MS (${REQUEST_TIMEOUT_MS}): the head is a part of the request.`,
    );
  }
  const atLeastMs = WAIT_MS + answeringMs;
  if (SHUTDOWN_TIMEOUT_MS < atLeastMs) {
    problems.push(
      `SHUTDOWN_TIMEOUT_MS is ${SHUTDOWN_TIMEOUT_MS}, but must be at least ${atLeastMs}, which is WAIT_MS (${WAIT_MS}) and ${answeringMs} ms, or a stop would cut off answers.`,
    );
  }
  if (IN_FLIGHT_SHOP_MAX > IN_FLIGHT_MAX) {
    problems.push(
      `IN_FLIGHT_SHOP_MAX is ${IN_FLIGHT_SHOP_MAX}, but must not be above IN_FLIGHT_MAX (${IN_FLIGHT_MAX}): one shop would keep out all others.`,
    );
  }
  return problems;
}

/** During a stop idle connections are kept this long, because a request may be on its way on them. */
export const lingerMs = 1_000;
/** What closing everything else takes, after the last answer. */
const closeMs = 1_000;
/** What a stop takes at most beyond WAIT_MS: a write may come at the end of `lingerMs`, then has its wait and grace. */
const answeringMs = lingerMs + graceMs + closeMs;

/**
 * How long after the beginning of a stop a request may still arrive, in milliseconds: one that comes later could not
 * have its whole wait before the stop is forced.
 */
export function arrivalMsMax({ SHUTDOWN_TIMEOUT_MS, WAIT_MS }: ApiSettings): number {
  return SHUTDOWN_TIMEOUT_MS - WAIT_MS - graceMs - closeMs;
}
