import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { KoaAdapter } from '@bull-board/koa';
import Koa from 'koa';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openBusyQueues } from '../../shared/queue/busy-queues.js';
import { connectQueuePageRedis, untilReady } from '../../shared/redis/connections.js';
import type { Logger } from '../../shared/runtime/logger.js';

export interface QueueBoard {
  /** Shows the materials that have work at this moment. */
  handle: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  close: () => void;
}

/** The page asks for all of them every few seconds, and each takes some seven commands of Redis. */
const queuesMax = 100;

/**
 * bull-board over the queues that are busy now. It brings a second BullMQ, a template engine and more (5 MiB), so
 * `queue-page.ts` imports this file only when somebody looks.
 *
 * @param basePath where it is mounted; its own links begin with this
 * @throws where Redis does not answer within five seconds
 */
export async function openQueueBoard(deps: {
  redisUrl: string;
  basePath: string;
  logger: Logger;
}): Promise<QueueBoard> {
  const { redisUrl, basePath, logger } = deps;
  const onError = (error: Error) => logger.debug({ err: error }, 'The queue page met a fault of Redis.');
  const redis = connectQueuePageRedis(redisUrl, onError);
  try {
    await untilReady(redis);
    const busy = await openBusyQueues(redis, queuesMax, onError);
    const adapter = new KoaAdapter();
    adapter.setBasePath(basePath);
    const board = createBullBoard({
      queues: [],
      serverAdapter: adapter,
      options: {
        uiConfig: {
          boardTitle: 'Materials with work now',
          hideDocsLink: true,
          // No worker belongs to one queue here, and showing workers would take a CLIENT LIST for each queue.
          showWorkers: false,
        },
      },
    });
    const app = new Koa();
    app.on('error', onError);
    app.use(adapter.registerPlugin());
    const answer = app.callback();
    return {
      async handle(req, res) {
        if (req.url?.startsWith(`${basePath}/api/`) === true) {
          const queues = await busy.list();
          board.replaceQueues(queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })));
        }
        await answer(req, res);
      },
      close() {
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}
