import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import { detailsMax, pointerStep } from '../../shared/contract/faults.js';
import { isJsonObject } from '../../shared/contract/json-object.js';

/**
 * How each protocol error begins in the library's answer. Failed rows of a tool's result may look alike; texts cannot.
 */
const errorMark = '"error":{"code":';

/**
 * An answer of the library. Its errors about params are its schema's own words as JSON, and those of `initialize` carry
 * the code of a server fault. They become what a client can act on: Invalid params, and where. No other answer is
 * changed.
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

/** A list of issues is the whole message, or its end. */
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
