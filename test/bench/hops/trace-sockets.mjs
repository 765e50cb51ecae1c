/**
 * `node --import <this file>` with TRACE_FILE set: writes down when the process reads from and writes to each of its
 * sockets, and leaves the list there at its end. So the hops of a request are seen from outside of the code: nothing in
 * production knows of it. The clock is the machine's monotonic one, the same for all its processes.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';

const eventsMax = 200_000;
/** @type {[ns: string, peer: string, direction: 'in' | 'out'][]} */
const events = [];

// The ports say what is at the other end; the name that a connection gives itself to Redis says what it is for.
const postgresPort = portOf(process.env.DATABASE_URL);
const redisPort = portOf(process.env.REDIS_URL);
const names = new WeakMap();

const note = (peer, direction) => {
  if (events.length < eventsMax) events.push([String(process.hrtime.bigint()), peer, direction]);
};

const { write, push } = Socket.prototype;
Socket.prototype.write = function (chunk, ...rest) {
  const peer = peerOf(this, chunk);
  if (peer !== undefined) note(peer, 'out');
  return write.call(this, chunk, ...rest);
};
Socket.prototype.push = function (chunk, ...rest) {
  const peer = chunk === null ? undefined : peerOf(this);
  if (peer !== undefined) note(peer, 'in');
  return push.call(this, chunk, ...rest);
};
// Requests are parsed below the stream, so that nothing is pushed for them.
subscribe('http.server.request.start', () => note('client', 'in'));

process.once('exit', () => writeFileSync(process.env.TRACE_FILE, JSON.stringify(events)));

function peerOf(socket, chunk) {
  if (socket.server) return 'client';
  if (socket.remotePort === postgresPort) return 'Postgres';
  if (socket.remotePort !== redisPort) return undefined;
  if (chunk !== undefined && !names.has(socket)) {
    const name = /raw-materials-([\w-]+)/.exec(String(chunk))?.[1];
    if (name !== undefined) names.set(socket, name);
  }
  return `Redis (${names.get(socket) ?? 'other'})`;
}

function portOf(url) {
  return Number(new URL(url ?? 'http://none').port);
}
