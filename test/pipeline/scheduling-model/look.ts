import type { Redis } from 'ioredis';
import { keys, queuePrefix } from '../../../shared/queue/names.js';

/** All that the queue has in Redis at one moment. */
export interface Look {
  nowMs: number;
  /** Deadlines of what is announced or leased. */
  scheduled: Map<string, number>;
  /** Tokens. */
  leases: Map<string, string>;
  since: Map<string, string>;
  /** Shops, as Redis has them: texts. */
  rotation: string[];
  lines: Map<string, string[]>;
  /** How many entries there are to wake a lane. */
  wake: number;
  queues: Map<string, QueueLook>;
  /** Keys of BullMQ's. */
  queueKeys: string[];
  workers: Map<string, number>;
  databases: Map<string, number>;
}

export interface QueueLook {
  /** Ids in the order in which they are due: those that are handed out come first. */
  jobs: string[];
  /** How many of them are handed out. */
  activeCount: number;
  /** How often each was handed out; undefined where its hash is gone. */
  deliveries: (number | undefined)[];
}

/** The score of a deadline that was moved into the past, instead of waiting for it. */
export const longAgo = 1;
/** A heartbeat below the first is put off by the second, and so never counts as too far ahead (`beatAheadMsMax`). */
const [beatSoonMs, beatLaterMs] = [10_000, 45_000];
/** More than this ahead lies no deadline that a script has set (`aheadMsMax`). */
const aheadMs = 8_000;

/**
 * ARGV: whether to put off what runs by itself, queues. Before a command everything that time would change is put off,
 * so that no verdict depends on how long the test takes: deadlines that were not moved by a command, and heartbeats.
 */
const lookLua = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local function text(number) return string.format('%.0f', number) end
  if ARGV[1] == 'put off' then
    local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
    for i = 1, #all, 2 do
      local score = tonumber(all[i + 1])
      if score > ${String(longAgo)} and score <= now + ${String(aheadMs)} then
        redis.call('ZADD', KEYS[1], text(now + ${String(aheadMs / 2)}), all[i])
      end
    end
    for _, key in ipairs({ KEYS[6], KEYS[7] }) do
      redis.call('PERSIST', key)
      local beats = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
      for i = 1, #beats, 2 do
        local score = tonumber(beats[i + 1])
        if score > ${String(longAgo)} and score < now + ${String(beatSoonMs)} then
          redis.call('ZADD', key, text(score + ${String(beatLaterMs)}), beats[i])
        end
      end
    end
  end
  local queues = {}
  for i = 2, #ARGV do
    local queue = '${queuePrefix}:' .. ARGV[i]
    local active, wait = redis.call('LRANGE', queue .. ':active', 0, -1), redis.call('LRANGE', queue .. ':wait', 0, -1)
    local jobs, deliveries = {}, {}
    for j = #active, 1, -1 do jobs[#jobs + 1] = active[j] end
    for j = #wait, 1, -1 do jobs[#jobs + 1] = wait[j] end
    for j, job in ipairs(jobs) do
      local key = queue .. ':' .. job
      deliveries[j] = redis.call('EXISTS', key) == 0 and 'gone' or redis.call('HGET', key, 'ats') or '0'
    end
    queues[#queues + 1] = { jobs, #active, deliveries }
  end
  local lines = {}
  for _, key in ipairs(redis.call('KEYS', KEYS[4] .. ':*')) do
    lines[#lines + 1] = { string.sub(key, #KEYS[4] + 2), redis.call('LRANGE', key, 0, -1) }
  end
  return {
    text(now), redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'), redis.call('HGETALL', KEYS[2]),
    redis.call('HGETALL', KEYS[3]), redis.call('LRANGE', KEYS[4], 0, -1), lines, redis.call('LLEN', KEYS[5]),
    queues, redis.call('KEYS', '${queuePrefix}:*'), redis.call('ZRANGE', KEYS[6], 0, -1, 'WITHSCORES'),
    redis.call('ZRANGE', KEYS[7], 0, -1, 'WITHSCORES')
  }`;

type QueueAnswer = [jobs: string[], activeCount: number, deliveries: string[]];
type Answer = [
  now: string,
  scheduled: string[],
  leases: string[],
  since: string[],
  rotation: string[],
  lines: [shop: string, line: string[]][],
  wake: number,
  queues: QueueAnswer[],
  queueKeys: string[],
  workers: string[],
  databases: string[],
];

const { scheduled, leases, since, ready, wake, workers, databases } = keys;

/** @param isPuttingOff before a command; after it, what the command wrote is seen as it is */
export async function look(redis: Redis, queues: readonly string[], isPuttingOff: boolean): Promise<Look> {
  const keysOfLook = [scheduled, leases, since, ready, wake, workers, databases];
  const args = [isPuttingOff ? 'put off' : '', ...queues];
  const answer = (await redis.eval(lookLua, keysOfLook.length, ...keysOfLook, ...args)) as Answer;
  const [nowMs, deadlines, tokens, waiting, rotation, lines, wakes, found, queueKeys, beats, writtenTo] = answer;
  return {
    nowMs: Number(nowMs),
    scheduled: numbers(deadlines),
    leases: pairs(tokens),
    since: pairs(waiting),
    rotation,
    lines: new Map(lines),
    wake: wakes,
    queues: new Map(queues.map((queue, index) => [queue, queueLook(found[index])])),
    queueKeys,
    workers: numbers(beats),
    databases: numbers(writtenTo),
  };
}

function queueLook([jobs, activeCount, deliveries]: QueueAnswer = [[], 0, []]): QueueLook {
  return { jobs, activeCount, deliveries: deliveries.map((text) => (text === 'gone' ? undefined : Number(text))) };
}

function pairs(flat: string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i] ?? '', flat[i + 1] ?? '');
  return map;
}

function numbers(flat: string[]): Map<string, number> {
  return new Map([...pairs(flat)].map(([name, text]) => [name, Number(text)]));
}
