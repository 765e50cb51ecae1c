import { STATUS_CODES } from 'node:http';
import { problemType } from '../../shared/contract/problem.js';
import { statusByCode } from '../../shared/domain/errors.js';
import type { RequestError } from '../../shared/domain/errors.js';

/**
 * Whether a client wants errors as problems (contract §7): it names the type, and does not like plain JSON better. A
 * wildcard names nothing, so what most clients send gets the default.
 */
export function wantsProblem(accept: string | undefined): boolean {
  // Nearly always: the header is looked at only when an error is answered, and parsed only if it names the type.
  if (accept?.toLowerCase().includes(problemType) !== true) return false;
  const qualities = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const quality = parameters.map((parameter) => /^q=(\d(?:\.\d{0,3})?)$/.exec(parameter)?.[1]).find(Boolean);
    qualities.set(type, Math.max(qualities.get(type) ?? 0, Number(quality ?? 1)));
  }
  const wanted = qualities.get(problemType) ?? 0;
  return wanted > 0 && wanted >= (qualities.get('application/json') ?? 0);
}

/** The body of an error as RFC 9457 has it, as JSON. */
export function problemBody({ code, message, details }: RequestError, requestId: string): string {
  const status = statusByCode[code];
  return JSON.stringify({
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    detail: message,
    instance: `urn:uuid:${requestId}`,
    code,
    requestId,
    details,
  });
}
