import { createServer } from 'node:http';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { fail, statusByCode } from '../../../shared/domain/errors.js';
import type { Refusal } from '../../../shared/domain/errors.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { sendReply } from '../envelope.js';
import { newRequestId } from '../request-id.js';
import { createAnswerLimit } from './answer-limit.js';
import type { AnswerLimit } from './answer-limit.js';
import { closeLingering } from './close-lingering.js';
import type { OpenConnections } from './close-lingering.js';
import { endDrainingBehindLast } from './end-draining.js';
import { announcesBody, goOn, holdBack } from './held-back-body.js';
import { refuseHost } from './host.js';
import { answerConnect, answerParserFault } from './parser-faults.js';
import { answerBefore, beginAfter, endWithLast, isUpgrade } from './pipelined.js';
import { boundReadAhead } from './read-ahead.js';
import type { ReadAhead } from './read-ahead.js';
import { refuseTransferCoding } from './transfer-coding.js';
import { endUntakenAnswers } from './untaken-answers.js';

export interface ApiServer {
  /** @returns the port; if 0 was asked for, a free one */
  listen(port: number, host: string): Promise<number>;
  /**
   * Takes no new connection, answers what is under way and what still comes on open ones, and ends when all are closed;
   * a request that has not arrived whole within `arrivalMs` is cut off.
   */
  close(): Promise<void>;
}

export interface ApiServerDeps {
  handle: (req: IncomingMessage, res: ServerResponse) => unknown;
  /** The methods of a path as `Allow` lists them; undefined for a path that is not there. */
  allowedMethods: (path: string) => string | undefined;
  /** Told the status of each answer that is given here, in place of the app's. */
  onRefused: (status: number) => void;
  logger: Logger;
  /**
   * `takenMs`: the longest that a client may take to read an answer. `lingerMs`: an idle connection, on which a request
   * may be on its way at this moment, is kept this long while closing. `arrivalMs`: the longest that a request may take
   * to arrive whole, from the start of closing; at least `lingerMs`.
   */
  timeouts: Record<'headersMs' | 'requestMs' | 'takenMs' | 'keepAliveMs' | 'lingerMs' | 'arrivalMs', number>;
  connectionsMax: number;
}

const headerBytesMax = 16_384;
/** How often Node looks for connections past their timeouts: they may end this much later than said. */
const timeoutCheckMs = 1_000;
const dropLogEveryMs = 10_000;

/** Node's server with all limits set, its own answers in our form: none leaves without a request id (contract §1). */
export function createApiServer(deps: ApiServerDeps): ApiServer {
  const { timeouts, connectionsMax } = deps;
  const server = createBoundedServer(timeouts, connectionsMax);
  const connections: OpenConnections = new Map();
  // Holds only requests cut short: keeping the last one of every open connection took 4 KiB each.
  const cutShort = new WeakMap<Duplex, IncomingMessage>();
  const readAhead = new WeakMap<Socket, ReadAhead>();
  const answerLimit = createAnswerLimit();
  let closing = false;
  server.on('connection', (socket) => {
    const open: ServerResponse[] = [];
    connections.set(socket, open);
    endDrainingBehindLast(socket);
    readAhead.set(socket, boundReadAhead(socket, open));
    socket.once('close', () => {
      connections.delete(socket);
      answerLimit.closed(open.splice(0).length);
    });
  });
  const follow = (req: IncomingMessage, res: ServerResponse, open: ServerResponse[]) => {
    track(req, res, { open, cutShort, readAhead: readAhead.get(req.socket), answerLimit });
    if (isUpgrade(req)) res.setHeader('Connection', 'close');
    if (closing) endWithLast(open);
  };
  /** The open answers of the connection, if another may be opened there. */
  const admit = ({ socket }: IncomingMessage): ServerResponse[] | undefined => {
    const open = connections.get(socket);
    return open !== undefined && answerLimit.admitOrCutOff(socket, open.length) ? open : undefined;
  };
  const begin = (req: IncomingMessage, res: ServerResponse) => {
    const open = admit(req);
    if (open === undefined) return;
    const before = answerBefore(open, req);
    follow(req, res, open);
    beginAfter(before, res, () => {
      if (!announcesBody(req)) goOn(res);
      const [unknownHost, unknownCoding] = [refuseHost(req), refuseTransferCoding(req)];
      if (unknownHost !== undefined) refuse(deps, res, unknownHost);
      // Where its body ends is not agreed on, so nothing may come behind it.
      else if (unknownCoding !== undefined) refuse(deps, res, unknownCoding, { lastOfConnection: true });
      else deps.handle(req, res);
    });
  };
  server.on('request', begin);
  server.on('checkContinue', (req, res) => {
    holdBack(res);
    begin(req, res);
  });
  server.on('checkExpectation', (req, res) => {
    const open = admit(req);
    if (open === undefined) return;
    follow(req, res, open);
    refuse(deps, res, unknownExpectation);
  });
  server.on('connect', (req, socket) => answerConnect(req, socket, { ...deps, connections }));
  server.on('clientError', (error, socket) => answerParserFault(error, socket, { ...deps, connections, cutShort }));
  server.once('close', endUntakenAnswers(connections, timeouts.takenMs));
  logDrops(server, deps);
  return {
    listen: (port, host) => listenOn(server, port, host),
    close: () => {
      closing = true;
      connections.forEach(endWithLast);
      return closeLingering(server, connections, timeouts);
    },
  };
}

function listenOn(server: HttpServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Node's own server, with our limits. */
function createBoundedServer(timeouts: ApiServerDeps['timeouts'], connectionsMax: number): HttpServer {
  const server = createServer({
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeoutCheckMs,
    maxHeaderSize: headerBytesMax,
    // Node would answer a missing Host by itself, with a bare 400.
    requireHostHeader: false,
  });
  // By default Node 20 silently drops fields past some thousand: a proxy's X-Forwarded-For, or a key. With 0, all that
  // fit into the bytes above are read.
  server.maxHeadersCount = 0;
  server.maxConnections = connectionsMax;
  return server;
}

/** Logs that connections are refused; a line for each would be a flood on top of the flood. */
function logDrops(server: HttpServer, { connectionsMax, logger }: ApiServerDeps): void {
  let loggedAtMs = -Infinity;
  server.on('drop', () => {
    if (performance.now() - loggedAtMs < dropLogEveryMs) return;
    loggedAtMs = performance.now();
    logger.warn({ connectionsMax }, 'Connections are refused: too many are open.');
  });
}

interface Tracked {
  /** The answers that are open on the request's connection. */
  open: ServerResponse[];
  cutShort: WeakMap<Duplex, IncomingMessage>;
  readAhead: ReadAhead | undefined;
  answerLimit: AnswerLimit;
}

/** For every request, by whichever event Node hands it over: notes its open answer, and whether it was cut short. */
function track(req: IncomingMessage, res: ServerResponse, { open, cutShort, readAhead, answerLimit }: Tracked): void {
  open.push(res);
  answerLimit.opened();
  readAhead?.opened();
  // If the connection breaks, Node 20 does not say so to an answer behind another; that goes with its connection.
  res.once('close', () => {
    const place = open.indexOf(res);
    if (place >= 0) answerLimit.closed(open.splice(place, 1).length);
    readAhead?.closed();
    if (!req.complete) cutShort.set(req.socket, req);
  });
}

const unknownExpectation = fail('EXPECTATION_FAILED', 'Of expectations only 100-continue can be met.');

function refuse(
  { onRefused }: Pick<ApiServerDeps, 'onRefused'>,
  res: ServerResponse,
  result: Refusal,
  { lastOfConnection = false } = {},
): void {
  onRefused(statusByCode[result.error.code]);
  sendReply(res, { requestId: newRequestId(), reply: { result }, lastOfConnection });
}
