import { errorSchema } from '../../shared/contract/envelope.js';
import { statusByCode } from '../../shared/domain/errors.js';
import type { ErrorCode } from '../../shared/domain/errors.js';
import { errorCodes } from './error-codes.js';
import { errorExamples } from './error-examples.js';
import { headerRefs } from './header-refs.js';
import type { Hoist, Schema } from './hoist-schemas.js';

export interface ErrorResponses {
  /** `responses` of an operation that may end with these codes: a `$ref` for each status. */
  of(codes: readonly ErrorCode[]): Record<string, Schema>;
  /** `components/responses`: one for each set of codes that some operation has under a status. */
  components: Record<string, Schema>;
}

export function createErrorResponses(hoist: Hoist): ErrorResponses {
  const components: Record<string, Schema> = {};
  return {
    components,
    of(codes) {
      const byStatus = new Map<number, ErrorCode[]>();
      for (const code of inOrder(codes)) {
        const status = statusByCode[code];
        byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
      }
      const refs = [...byStatus].map(([status, alike]) => {
        const name = alike.map(pascalCase).join('Or');
        components[name] ??= errorResponse(alike, hoist);
        return [String(status), { $ref: `#/components/responses/${name}` }] as const;
      });
      return Object.fromEntries(refs);
    },
  };
}

function errorResponse(codes: readonly ErrorCode[], hoist: Hoist): Schema {
  const narrowed = { type: 'object', properties: { error: { type: 'object', properties: { code: { enum: codes } } } } };
  const examples = codes.flatMap((code) =>
    errorExamples[code] === undefined ? [] : [[code, { summary: code, value: errorExamples[code] }] as const],
  );
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCodes[code].when}`).join('\n\n'),
    headers: headerRefs([
      'X-Request-Id',
      'RateLimit-Policy',
      'RateLimit',
      ...codes.flatMap((code) => errorCodes[code].headers ?? []),
    ]),
    content: {
      'application/json': { schema: { allOf: [hoist(errorSchema), narrowed] }, examples: Object.fromEntries(examples) },
    },
  };
}

/** By status, and within one in the order of the contract's table, so that a set of codes has one name. */
function inOrder(codes: readonly ErrorCode[]): ErrorCode[] {
  return (Object.keys(statusByCode) as ErrorCode[]).filter((code) => codes.includes(code));
}

function pascalCase(code: ErrorCode): string {
  return code
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('');
}
