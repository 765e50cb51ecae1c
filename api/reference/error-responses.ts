import { errorSchema } from '../../shared/contract/envelope.js';
import { problemSchema, problemType } from '../../shared/contract/problem.js';
import type { Schema } from '../../shared/contract/published-formats.js';
import { statusByCode } from '../../shared/domain/errors.js';
import type { ErrorCode } from '../../shared/domain/errors.js';
import { errorCodes } from './error-codes.js';
import { errorExamples } from './error-examples.js';
import { headerRefs } from './headers.js';
import type { Hoist } from './hoist-schemas.js';
import { replyExamples } from './reply-examples.js';

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
  const examples = codes.map((code) => {
    const value = { error: { code, ...errorExamples[code] }, meta };
    return [code, { summary: code, value }] as const;
  });
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCodes[code].when}`).join('\n\n'),
    headers: headerRefs([
      'X-Request-Id',
      'RateLimit-Policy',
      'RateLimit',
      ...codes.flatMap((code) => errorCodes[code].headers ?? []),
    ]),
    content: {
      'application/json': { schema: hoist(errorOf(codes)), examples: Object.fromEntries(examples) },
      [problemType]: { schema: hoist(problemOf(codes)) },
    },
  };
}

/** The contract's schema of an error with these codes only, so that a typed client knows what it may meet. */
function errorOf(codes: readonly ErrorCode[]): Schema {
  const { title: _title, properties, ...others } = errorSchema;
  const { error, meta } = properties;
  const code = { ...error.properties.code, enum: codes };
  return { ...others, properties: { error: { ...error, properties: { ...error.properties, code } }, meta } };
}

function problemOf(codes: readonly ErrorCode[]): Schema {
  const { title: _title, properties, ...others } = problemSchema;
  return { ...others, properties: { ...properties, code: { ...properties.code, enum: codes } } };
}

const { meta } = replyExamples.material.value;

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
