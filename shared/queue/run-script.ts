import type { Redis } from 'ioredis';
import { scripts } from './scripts.js';
import type { ScriptName } from './scripts.js';

type Argument = string | number;
type Commands = Record<ScriptName, (...args: Argument[]) => Promise<unknown>>;

/** Registers every script on a connection, and on the pipelines and transactions that it makes. */
export function defineScripts(redis: Redis): void {
  for (const [name, { lua, keys }] of Object.entries(scripts)) {
    redis.defineCommand(name, { lua, numberOfKeys: keys.length });
  }
}

/** Runs a script on a connection that knows it. */
export function runScript(redis: Redis, name: ScriptName, ...args: Argument[]): Promise<unknown> {
  return (redis as unknown as Commands)[name](...scripts[name].keys, ...args);
}

/**
 * What a `Batch` and a `Transaction` of `shared/redis` have in common. It is described here because this folder must not
 * import that one: the queue is given its connections, and knows only the domain and the runtime.
 */
export interface CommandBatch {
  add: (command: (redis: Redis) => Promise<unknown>) => void;
}

/** Adds a script to a batch or transaction; its answer comes with the others. */
export function addScript(batch: CommandBatch, name: ScriptName, ...args: Argument[]): void {
  batch.add((redis) => runScript(redis, name, ...args));
}
