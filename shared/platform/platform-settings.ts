import { tokenKeyProblem } from './token-cipher.js';

/** What every process that calls a commerce platform reads; declared as for `shared/runtime/settings.ts`. */
export const platformSettings = {
  PLATFORM_TOKEN_KEY: {
    type: 'string',
    secret: true,
    check: tokenKeyProblem,
    description: "The key that shops' platform tokens are sealed with; without it no platform is called.",
  },
  PLATFORM_ALLOW_LOOPBACK: {
    type: 'boolean',
    default: false,
    description:
      "Whether a shop's platform may be a server on 127.0.0.1, as the demo's stand-in is; not in production.",
  },
} as const;
