import { platformErrorMessages } from '../platform/commerce-platform.js';

/**
 * Why a run stopped before its end, with the sentence that operators read; it quotes nothing that the platform wrote.
 */
export const syncProblemMessages = {
  ...platformErrorMessages,
  // Names scopes too: otherwise an operator would make a new token that lacks the same scope.
  unauthorized: "The commerce platform refused the shop's credentials, or they lack a scope that is needed.",
  'not-callable':
    'Its platform may not be called: its domain must be <name>.myshopify.com (or, with PLATFORM_ALLOW_LOOPBACK=true, a server on 127.0.0.1), and its token printable ASCII.',
  'token-unreadable':
    "The shop's platform token cannot be opened: PLATFORM_TOKEN_KEY is not the one that it was sealed with.",
  'pages-repeat': 'The commerce platform lists the same entries again and again.',
  'too-many-pages': 'The commerce platform lists more pages than a run may take.',
  'lease-lost':
    'Another process took the run over, or Postgres went back to an earlier moment beneath it; it goes on from there.',
} as const;

export type SyncProblem = keyof typeof syncProblemMessages;

/** After these, a run that went on where it stopped would stop there again: the next one begins anew. */
export function isDeadEnd(problem: SyncProblem): boolean {
  return problem === 'invalid-response' || problem === 'pages-repeat' || problem === 'too-many-pages';
}

/** The sentence for a code that stands in the table; a code of another version of the service is returned as it is. */
export function problemMessage(code: string): string {
  return Object.hasOwn(syncProblemMessages, code) ? syncProblemMessages[code as SyncProblem] : code;
}
