import type { Redis } from 'ioredis';
import { inOneWrite } from './in-one-write.js';

/** A command's error, or null and its answer. */
export type Answer = [error: Error | null, answer?: unknown];

/**
 * Commands that are gathered and go out together, in one write.
 *
 * They are sent as plain commands, not on an ioredis pipeline. A pipeline is an object with every script of its
 * connection (10 KB on BullMQ's) and a getter of its own, so V8 makes a hidden class for it alone. That class is born
 * old and points to the pipeline. So the pipeline, with everything that waits for its answers (17 KB for an
 * adjustment), outlives every collection but a full one, and the process stopped for one every few thousand
 * adjustments.
 */
export interface Batch {
  /** @param command sends itself on the connection it is given */
  add: (command: Command) => void;
  size: () => number;
  /** The answers in the order of the commands. Never rejects. */
  send: () => Promise<Answer[]>;
}

type Command = (redis: Redis) => Promise<unknown>;

export function createBatch(redis: Redis): Batch {
  const commands: Command[] = [];
  return {
    add: (command) => void commands.push(command),
    size: () => commands.length,
    send() {
      const answers: Promise<Answer>[] = [];
      inOneWrite(redis, () => {
        for (const command of commands) answers.push(command(redis).then(answered, failed));
      });
      return Promise.all(answers);
    },
  };
}

const answered = (answer: unknown): Answer => [null, answer];
const failed = (error: Error): Answer => [error];

/**
 * A batch between MULTI and EXEC: no other client's command comes in between, and if Redis refuses one, none is run.
 */
export interface Transaction extends Pick<Batch, 'add'> {
  /** @throws the error of the first command that Redis refused, or of the connection */
  exec: () => Promise<Answer[]>;
}

export function createTransaction(redis: Redis): Transaction {
  const commands: Command[] = [];
  return {
    add: (command) => void commands.push(command),
    async exec() {
      const refusals: Error[] = [];
      const refused = (error: Error) => void refusals.push(error);
      let executed: Promise<Answer[] | null> = Promise.resolve(null);
      inOneWrite(redis, () => {
        redis.multi({ pipeline: false }).catch(refused);
        for (const command of commands) command(redis).catch(refused);
        executed = redis.exec();
      });
      try {
        const answers = await executed;
        // Redis answers nil only after a WATCH, which nobody sends on our connections.
        if (answers === null) throw new Error('Redis did not execute the transaction.');
        return answers;
      } catch (error) {
        throw refusals[0] ?? error;
      }
    },
  };
}
