import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** A client that has taken its answer and sends nothing for this long knows of the end, or is gone. */
const quietMs = 1_000;
const drainMsMax = 10_000;
const drainBytesMax = 16 * 1_048_576;

const ended = new WeakSet<Duplex>();

/** Whether `endDraining` was called for the connection: what still comes on it is thrown away. */
export function isEnded(socket: Duplex): boolean {
  return ended.has(socket);
}

/**
 * Writes a last text to a connection and ends it, but reads on for a while and throws away what comes: closing a socket
 * with unread data resets it, and a client that is still sending would lose the answer (RFC 9112 §9.6). The socket is
 * closed when the client closes it, when the client has taken everything and sends nothing for a second, or at the
 * latest after ten seconds or 16 MiB.
 */
export function endDraining(socket: Duplex, text = ''): void {
  if (ended.has(socket) || socket.destroyed) return;
  ended.add(socket);
  let bytes = 0;
  const close = () => socket.destroy();
  const longest = setTimeout(close, drainMsMax);
  const quiet = setInterval(() => {
    // After a long turn of ours, what has come meanwhile is still to be read.
    const before = bytes;
    setImmediate(() => {
      if (bytes === before && socket.writableFinished) close();
    });
  }, quietMs);
  socket.once('close', () => {
    clearTimeout(longest);
    clearInterval(quiet);
  });
  // A client that is gone meanwhile must not become a fault of the process.
  socket.on('error', close);
  socket.resume();
  // Only after it has resumed: a connection that is taken from Node's parser while paused is never read again.
  process.nextTick(() => {
    // The parser's listeners would refuse what comes, or take it for a request.
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => {
      quiet.refresh();
      bytes += chunk.length;
      if (bytes > drainBytesMax) close();
    });
  });
  socket.end(text);
}

const toBeEnded = new WeakSet<Duplex>();

/** `endDraining` once the last answer on the connection is closed. May be called again until then, by each packet. */
export function endDrainingAfter(last: ServerResponse, socket: Duplex): void {
  if (toBeEnded.has(socket)) return;
  toBeEnded.add(socket);
  last.once('close', () => endDraining(socket));
}

/**
 * For a new connection: makes Node call `endDraining` after an answer with `Connection: close`, where it would close
 * the socket at once.
 */
export function endDrainingBehindLast(socket: Duplex): void {
  // Node calls this method of the socket (documented, `net.Socket`) once the answer is written.
  Object.assign(socket, {
    destroySoon: () => endDraining(socket),
  });
}
