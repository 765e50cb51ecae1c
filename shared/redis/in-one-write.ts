import type { Redis } from 'ioredis';

/**
 * Puts what `send` sends into one write to the socket instead of one for each command: for the process that sends a
 * command, the write is its dearest part.
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
