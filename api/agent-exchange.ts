import type { IncomingHttpHeaders } from 'node:http';
import type { RequestError } from '../shared/domain/errors.js';
import type { Caller } from './caller.js';

/** One JSON-RPC message that came to `/mcp` and passed the checks of every request; its content is not checked yet. */
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
  refusal: ToolRefusal | undefined;
}

/** What a tool refused a call with: HTTP's status is 200 all the same. */
export interface ToolRefusal {
  tool: string;
  error: RequestError;
}

/** The AI-agent surface as `http` sees it: answers one message. Faults are thrown. */
export type AgentSurface = (request: AgentRequest) => Promise<AgentAnswer>;
