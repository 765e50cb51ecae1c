import type { IncomingHttpHeaders } from 'node:http';
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { McpServer } from '@modelcontextprotocol/server';
import { isJsonObject } from '../../shared/contract/json-object.js';
import type { AgentSurface, ToolRefusal } from '../agent-exchange.js';
import { createMcpServer } from './mcp-server.js';
import type { McpServerDeps } from './mcp-server.js';
import { withPlainFault } from './protocol-fault.js';

export type AgentSurfaceDeps = Omit<McpServerDeps, 'caller' | 'sentArguments' | 'onRefused'>;

/**
 * The Model Context Protocol over Streamable HTTP, stateless (contract §1 `/mcp`). Each message is answered by a server
 * object of its own, with one JSON document and no stream: nothing is kept between two messages, and any process can
 * answer any of them. Both generations of the protocol are spoken: 2026-07-28, and 2025-11-25 and before with its
 * handshake.
 *
 * It costs 0.15 ms a message on top of the operation (measured on Node 20), and only here: REST does not pass through
 * it.
 */
export function createAgentSurface(deps: AgentSurfaceDeps): AgentSurface {
  return async ({ caller, message, headers }) => {
    let problem: Error | undefined;
    let refusal: ToolRefusal | undefined;
    const onRefused = (refused: ToolRefusal) => (refusal = refused);
    const onerror = (error: Error) => {
      problem = error;
      deps.services.logger.debug({ err: error, requestId: caller.requestId }, 'The agent surface refused a message.');
    };
    const response = await answer(
      protocolRequest(headers),
      message,
      () => createMcpServer({ ...deps, caller, sentArguments: sentArguments(message), onRefused }),
      onerror,
    );
    // This is how the library reports a fault of ours or its own; thrown, it is logged and answered as any other.
    if (response.status >= 500) throw new Error('the MCP library failed', { cause: problem });
    return {
      status: response.status,
      contentType: response.headers.get('content-type') ?? undefined,
      body: withPlainFault(await response.text()),
      refusal,
    };
  };
}

async function answer(
  request: Request,
  message: object,
  createServer: () => McpServer,
  onerror: (error: Error) => void,
): Promise<Response> {
  if (!(await isLegacyRequest(request, message))) {
    return createMcpHandler(createServer, { legacy: 'reject', onerror }).fetch(request, { parsedBody: message });
  }
  // The handler above would serve these as well, but as event streams: their own transport can answer with JSON.
  const server = createServer();
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  transport.onerror = onerror;
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

function sentArguments(message: { params?: unknown }): unknown {
  return isJsonObject(message.params) ? message.params['arguments'] : undefined;
}

/**
 * The request as the library sees it; its body is already read. `Accept` is always what the library wants, because here
 * no value of it is a 406 (contract §2). There is no abort signal: a client that goes away does not end what it has
 * begun.
 */
function protocolRequest(sent: IncomingHttpHeaders): Request {
  const headers = new Headers({
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  });
  for (const [name, value] of Object.entries(sent)) {
    if (name.startsWith('mcp-') && value !== undefined) headers.set(name, [value].flat().join(', '));
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers });
}
