import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import { detailsMax, pointerStep } from '../../shared/contract/faults.js';
import { isJsonObject } from '../../shared/contract/json-object.js';

/**
 * How a protocol error begins in the library's answer. A failed row in a tool's result begins alike; a text cannot,
 * since its quotes are escaped.
 */
const errorMark = '"error":{"code":';

/**
 * Makes the library's errors about params readable. It answers the issues of its schemas as JSON within the message,
 * and those of `initialize` with the code of a server fault; a client can act on "Invalid params", and where. No other
 * answer is changed.
 */
export function withPlainFault(body: string): string {
  if (!body.includes(errorMark)) return body;
  const answer: unknown = JSON.parse(body);
  if (!isJsonObject(answer) || !isJsonObject(answer['error'])) return body;
  const { message } = answer['error'];
  const issues = typeof message === 'string' ? issuesIn(message) : [];
  if (issues.length === 0) return body;
  const error = { code: ProtocolErrorCode.InvalidParams, message: `Invalid params: ${sentenceOf(issues)}` };
  return JSON.stringify({ ...answer, error });
}

interface Issue {
  path: (string | number)[];
  message: string;
}

/** The issues in a message, of which they are the whole or the end. */
function issuesIn(message: string): Issue[] {
  try {
    const issues: unknown = JSON.parse(message.slice(message.indexOf('[')));
    return Array.isArray(issues) && issues.every(isIssue) ? issues : [];
  } catch {
    return [];
  }
}

function isIssue(value: unknown): value is Issue {
  return isJsonObject(value) && Array.isArray(value['path']) && typeof value['message'] === 'string';
}

function sentenceOf(issues: readonly Issue[]): string {
  const unsaid = issues.length - detailsMax;
  return [...issues.slice(0, detailsMax).map(said), ...(unsaid > 0 ? [`and ${unsaid} more`] : [])].join('; ');
}

const said = ({ path, message }: Issue) => `${path.map(pointerStep).join('')}: ${message}`;
