import type { Redis } from 'ioredis';

/**
 * Puts the commands that `send` sends into one write to the socket: for the process that sends a command, the write is
 * its most expensive part.
 */
export function inOneWrite(redis: Redis, send: () => void): void {
  // Without a connection there is nothing to hold back, and commands fail by themselves.
  if (redis.status !== 'ready') {
    send();
    return;
  }
  const { stream } = redis;
  stream.cork();
  try {
    send();
  } finally {
    process.nextTick(() => stream.uncork());
  }
}
