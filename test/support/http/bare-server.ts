import { pino } from 'pino';
import { createApiServer } from '../../../api/http/connections/server.js';
import type { ApiServer, ApiServerDeps } from '../../../api/http/connections/server.js';

const timeouts = {
  headersMs: 10_000,
  requestMs: 10_000,
  answerMs: 10_000,
  keepAliveMs: 10_000,
  lingerMs: 1_000,
  arrivalMs: 1_000,
};

/** The API's server with something other than the app behind it, and with times that no test reaches by itself. */
export function createBareServer(
  handle: ApiServerDeps['handle'],
  { timeouts: given, ...more }: Partial<Omit<ApiServerDeps, 'timeouts'>> & { timeouts?: Partial<typeof timeouts> } = {},
): ApiServer {
  return createApiServer({
    handle,
    allowedMethods: () => undefined,
    onRefused: () => undefined,
    logger: pino({ level: 'silent' }),
    connectionsMax: 10,
    ...more,
    timeouts: { ...timeouts, ...given },
  });
}
