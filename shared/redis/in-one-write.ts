import type { Redis } from 'ioredis';

/**
 * Sends what `send` sends in one write to the socket instead of one a command: a write is the dearest part of a command
 * for the process that sends it.
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
    process.nextTick(() => {
      stream.uncork();
    });
  }
}
