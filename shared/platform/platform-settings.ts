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
      "Whether a shop's platform may be a server on 127.0.0.1, as the demo's stand-in is; refused in production.",
  },
} as const;

/**
 * Why a process must not start with these settings: somebody who may set a shop's platform address could make the
 * service call what listens on its own machine.
 */
export function loopbackProblems(settings: {
  readonly NODE_ENV: string | undefined;
  readonly PLATFORM_ALLOW_LOOPBACK: boolean | undefined;
}): string[] {
  if (settings.NODE_ENV !== 'production' || settings.PLATFORM_ALLOW_LOOPBACK !== true) return [];
  return [
    "PLATFORM_ALLOW_LOOPBACK is true, but must not be where NODE_ENV is production: it lets a shop's platform be a server on this machine, for tests and the demo.",
  ];
}
