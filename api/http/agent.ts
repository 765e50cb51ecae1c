import { refuseAt } from '../../shared/contract/faults.js';
import { isJsonObject } from '../../shared/contract/json-object.js';
import type { AgentAnswer, AgentSurface } from '../agent-exchange.js';
import type { BodyReader } from './body/body-reader.js';
import { jsonType } from './body/content-type.js';
import { isTooBroad, messageBreadthMax } from './body/message-breadth.js';
import { refuseUnrouted } from './refuse-unrouted.js';
import { callerOf } from './request-state.js';
import type { AppContext, AppMiddleware, Reply } from './request-state.js';

const path = '/mcp';
const methods = 'POST';
const types = [jsonType];

/** The methods of the agent surface's one path, as `Allow` lists them; undefined for any other path. */
export function agentMethods(asked: string): string | undefined {
  return asked === path ? methods : undefined;
}

/**
 * `POST /mcp` (contract §1). It comes after the checks that both surfaces share and before the plan, which only REST
 * requires. Method, content type, size and JSON are checked as on REST, and refused in the same JSON; the content of a
 * message is left to the surface. `Origin` is not checked: that protects servers that trust whoever reaches them, and
 * here every request has a key, which no browser adds by itself.
 */
export function agent(surface: AgentSurface, readBody: BodyReader): AppMiddleware {
  const answer = async (ctx: AppContext): Promise<void> => {
    const { state, req } = ctx;
    state.route = path;
    if (ctx.method !== methods) {
      state.reply = refuseUnrouted(methods);
      return;
    }
    const read = await readBody(ctx, types);
    if ('refusal' in read) {
      state.reply = read.refusal;
    } else if (!isJsonObject(read.body)) {
      state.reply = notOneMessage;
    } else if (isTooBroad(read.body)) {
      state.reply = tooBroad;
    } else {
      const caller = { ...callerOf(ctx), channel: 'mcp' } as const;
      const answered = await surface({ caller, message: read.body, headers: req.headers });
      state.toolRefusal = answered.refusal;
      send(ctx, answered);
    }
  };
  return (ctx, next) => (ctx.path === path ? answer(ctx) : next());
}

const notOneMessage: Reply = {
  result: refuseAt('', 'Send one JSON-RPC message, an object. Batches are not taken.'),
};

const tooBroad: Reply = {
  result: refuseAt(
    '',
    `The message holds more than ${messageBreadthMax} members and items, those of \`updates\` not counted.`,
  ),
};

/** Not in the envelope, since the protocol has its own; with the headers that every answer has. */
function send({ res, state }: AppContext, { status, contentType, body }: AgentAnswer): void {
  if (res.headersSent || res.destroyed) return;
  const own = {
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': state.requestId,
  };
  res.writeHead(
    status,
    Object.assign(own, contentType !== undefined && { 'Content-Type': contentType }, state.headers),
  );
  res.end(body);
}
