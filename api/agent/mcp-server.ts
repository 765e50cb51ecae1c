import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { apiVersion } from '../../shared/contract/envelope.js';
import { fail } from '../../shared/domain/errors.js';
import type { Refusal } from '../../shared/domain/errors.js';
import type { ToolRefusal } from '../agent-exchange.js';
import { mayUse } from '../caller.js';
import type { Caller } from '../caller.js';
import { answered } from '../operations/dispatch-answer.js';
import type { Answered } from '../operations/dispatch-answer.js';
import type { Services } from '../services.js';
import { toolResult } from './tool-result.js';
import { tools } from './tools.js';

export interface McpServerDeps {
  services: Services;
  caller: Caller;
  /** Of the call of a tool, as they were sent: the library's copy of them lacks a `__proto__`, which is to be refused. */
  sentArguments: unknown;
  /** Logs a fault and returns its answer, which shows nothing of the fault itself. */
  answerFault: (error: unknown, about: { requestId: string; route: string }) => Refusal;
  onRefused: (refusal: ToolRefusal) => void;
}

/**
 * The protocol's server for one request: it lists the tools that the caller's key may use, and calls one. The handlers
 * are set on the inner server, so that the contract's schemas are published as they are, and the contract's readers
 * check the arguments: `registerTool` of the library wants schemas in a language of its own.
 */
export function createMcpServer(deps: McpServerDeps): McpServer {
  const mcp = new McpServer(
    { name: 'raw-materials', title: 'Raw materials', version: apiVersion },
    {
      // Nothing is ever announced, so a client that subscribes is told so at once and no stream stays open.
      capabilities: { tools: { listChanged: false } },
      instructions,
      cacheHints: { 'tools/list': { ttlMs: toolsFreshMs, cacheScope: 'private' } },
    },
  );
  const { scope } = deps.caller;
  mcp.server.setRequestHandler('tools/list', () => ({
    tools: tools.filter((tool) => mayUse(scope, tool.scope)).map(({ published }) => published),
  }));
  mcp.server.setRequestHandler('tools/call', ({ params }) => callTool(deps, params.name));
  return mcp;
}

/** The list depends on the key's scope, which never changes, and on the release. */
const toolsFreshMs = 300_000;

/** Characters of an unknown name that are repeated. */
const nameShownMax = 64;

async function callTool(
  { services, caller, sentArguments: args = {}, answerFault, onRefused }: McpServerDeps,
  name: string,
): Promise<CallToolResult> {
  const tool = tools.find(({ published }) => published.name === name);
  // An unknown tool is a misuse of the protocol, not a fault of a tool (MCP §Tools, "Error Handling").
  if (tool === undefined) {
    const message = `There is no tool ${JSON.stringify(name.slice(0, nameShownMax))}; tools/list names those there are.`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const { requestId } = caller;
  const answer = (given: Answered<object>) => {
    if (!given.result.ok) onRefused({ tool: name, error: given.result.error });
    return toolResult(given, requestId);
  };
  if (!mayUse(caller.scope, tool.scope)) return answer(answered(writeScopeMissing));
  try {
    return answer(await tool.call(services, caller, args));
  } catch (error) {
    return answer(answered(answerFault(error, { requestId, route: `/mcp ${name}` })));
  }
}

const writeScopeMissing = fail(
  'FORBIDDEN_SCOPE',
  'This API key may only read; a key with the write scope is needed for this tool.',
);

/** For the agent, at the start of its work. */
const instructions = [
  'Raw materials of one shop and their stock by location.',
  'Ids: `VMAT-…` is a virtual material, kept here and changeable; digits are a material of the commerce platform, which can only be read here.',
  'Find a material with list_raw_materials, then use its variantId. get_inventory shows the locations where it has a level; the id of any other has to be given to you.',
  'A tool that fails answers with a JSON text `{ error: { code, message, details }, requestId }`, whose details point into the arguments.',
  'After SERVICE_UNAVAILABLE this one call was not applied: wait and call again, with the same idempotencyKey if it had one. After OUTCOME_UNKNOWN call again with the same idempotencyKey; without one do what the message says.',
  'Each request, also those of the protocol itself, takes a point of the budget that the shop has for REST and agents together.',
].join('\n');
