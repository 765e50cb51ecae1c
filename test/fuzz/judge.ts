import { expect } from 'chai';
import { errorSchema } from '../../shared/contract/envelope.js';
import { problemSchema } from '../../shared/contract/problem.js';
import { statusByCode } from '../../shared/domain/errors.js';
import { document, expectDocumented, expectValid } from '../support/http/documented.js';
import type { Answer } from '../support/http/http.js';
import { lacksCpu } from '../support/http/refusals.js';
import type { Schema } from './generate/values.js';

export interface Judged {
  method: string;
  path: string;
  /** The output schema of the tool that was called, if one was. */
  output?: Schema | undefined;
  /** Whether this may be answered 502: a platform's levels, of a shop that is not connected. */
  mayBeUpstream: boolean;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** What holds of every answer, whatever was asked (reliability §2, T9). */
export function judge(asked: Judged, answer: Answer): void {
  const isMachines = judgeAny(answer);
  expectDocumented(asked, answer);
  const isPlanned = answer.status < 500 || isMachines || (answer.status === 502 && asked.mayBeUpstream);
  expect(isPlanned, `an unplanned ${answer.status}: ${answer.text}`).to.equal(true);
  judgeToolCall(asked, answer);
}

/** What a service says of a part of it that fell silent. */
const silence =
  /"message":"(The queue is not reachable|The database is not reachable|No worker of this database is running, or none can use it)\.( Nothing was applied\.| This attempt was not applied;[^"]*)?"/;

/**
 * What holds without knowing what was asked: the answer is whole, has a request id of ours, and is no fault of ours.
 *
 * @returns whether it is a refusal for which the machine, without its CPU, is to blame and not the request
 */
function judgeAny({ status, headers, body, text }: Answer): boolean {
  // Asked for each answer, because it looks back only to earlier calls.
  const isWithoutCpu = lacksCpu();
  const isMachines = status === 503 && isWithoutCpu && silence.test(text);
  expect(headers['x-request-id'], 'X-Request-Id').to.match(uuid);
  expect(headers['x-content-type-options'], 'X-Content-Type-Options').to.equal('nosniff');
  const isUnplanned = status === 500 || (status === 503 && !isMachines) || status === 504;
  expect(isUnplanned, `an unplanned ${status}: ${text}`).to.equal(false);
  expect(text, 'a stack trace').not.to.match(/\.[jt]s:\d+/);
  const { meta } = (body ?? {}) as { meta?: { requestId?: string } };
  if (meta?.requestId !== undefined) expect(meta.requestId).to.equal(headers['x-request-id']);
  return isMachines;
}

/** As `judgeAny`, and the document has such a body: an error under its own status, or some operation's good answer. */
export function judgeUnknown(answer: Answer): void {
  judgeAny(answer);
  const { status, headers, text } = answer;
  const body = answer.body as object | undefined;
  const { jsonrpc } = (body ?? {}) as { jsonrpc?: string };
  if (text === '' && (status === 202 || status === 304)) return;
  expect(body, text).to.be.an('object');
  if (jsonrpc !== undefined) {
    expect(jsonrpc).to.equal('2.0');
    return;
  }
  if (status >= 400) {
    const isProblem = headers['content-type'] === 'application/problem+json';
    expectValid(String(status), isProblem ? problemSchema : errorSchema, body);
    const { code, error } = body as { code?: string; error?: { code: string } };
    expect(statusByCode[(error?.code ?? code) as keyof typeof statusByCode], text).to.equal(status);
    return;
  }
  expect(
    goodBodies.some((schema) => fits(schema, body)),
    `no operation answers ${text}`,
  ).to.equal(true);
}

interface Described {
  responses: Record<string, { content?: Record<string, { schema?: object }> }>;
}

/** The schemas of a 200 under /v1 and of the probes; a file's says too little to tell anything. */
const goodBodies = Object.entries(document.paths).flatMap(([path, item]) =>
  path === '/openapi.json'
    ? []
    : Object.values(item).flatMap((operation) => {
        const { responses } = operation as unknown as Described;
        return responses['200']?.content?.['application/json']?.schema ?? [];
      }),
);

function fits(schema: object, body: unknown): boolean {
  try {
    expectValid('', schema, body);
    return true;
  } catch {
    return false;
  }
}

interface ToolResult {
  isError?: boolean;
  content: { text: string }[];
  structuredContent?: unknown;
}

function judgeToolCall({ output, mayBeUpstream }: Judged, { body }: Answer): void {
  const { result } = (body ?? {}) as { result?: ToolResult };
  if (output === undefined || result?.content === undefined) return;
  const [block] = result.content;
  if (result.isError !== true) {
    expectValid('structuredContent', output, result.structuredContent);
    return;
  }
  const { error } = JSON.parse(block?.text ?? '') as { error: { code: string } };
  const unplanned = [
    'INTERNAL_ERROR',
    'SERVICE_UNAVAILABLE',
    'OUTCOME_UNKNOWN',
    ...(mayBeUpstream ? [] : ['UPSTREAM_ERROR']),
  ];
  expect(unplanned, block?.text).not.to.include(error.code);
}
