import type { CallToolResult } from '@modelcontextprotocol/server';
import { pointerStep } from '../../shared/contract/faults.js';
import type { ErrorDetail, RequestError } from '../../shared/domain/errors.js';
import type { Answered } from '../operations/dispatch-answer.js';

/**
 * The answer of a tool: `structuredContent` is what `data` is on REST, and the text says the same for clients that read
 * only text. An error is a text alone, `{ error: { code, message, details?, retryAfterSeconds? }, requestId }`, since
 * clients may hold structured content against the schema of a success.
 */
export function toolResult({ result, replayed }: Answered<object>, requestId: string): CallToolResult {
  const _meta = { requestId, ...(replayed && { idempotencyReplayed: true }) };
  if (result.ok) {
    const { data } = result;
    return { content: [textOf(data)], structuredContent: data, _meta };
  }
  return { content: [textOf({ error: shown(result.error), requestId })], isError: true, _meta };
}

function textOf(value: object): { type: 'text'; text: string } {
  return { type: 'text', text: JSON.stringify(value) };
}

function shown({ code, message, details, retryAfterSeconds }: RequestError): object {
  return { code, message, details: details?.map(intoArguments), retryAfterSeconds };
}

/** On REST a fault in path or query is at a bare name. Here that is an argument, which a JSON Pointer points at. */
function intoArguments({ path, message }: ErrorDetail): ErrorDetail {
  return { path: path === '' || path.startsWith('/') ? path : pointerStep(path), message };
}
