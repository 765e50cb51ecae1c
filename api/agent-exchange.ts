import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from './caller.js';

/** What came to `/mcp` and passed the checks that every request passes: one JSON-RPC message, not looked into yet. */
export interface AgentRequest {
  caller: Caller;
  message: object;
  headers: IncomingHttpHeaders;
}

export interface AgentAnswer {
  status: number;
  /** Of the body; undefined where there is none, as after a notification. */
  contentType: string | undefined;
  body: string;
}

/** The AI-agent surface as `http` sees it: from one message to one answer. A fault is thrown. */
export type AgentSurface = (request: AgentRequest) => Promise<AgentAnswer>;
