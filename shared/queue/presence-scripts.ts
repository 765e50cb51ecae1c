import { clock, makeReady, manyAtOnce, script, wakeOne } from './lua-parts.js';
import { refusalLastsMs } from './refusal.js';

// Which workers live: their beats, what is freed of those that are gone, and what an API process asks about them and
// the queue.

/**
 * ARGV: ids of workers whose connection is gone, or tokens of takes whose answer was lost. Removes these workers from
 * the list of the living, and makes ready what was held by them or taken under these tokens: the part of a token before
 * the dot is its owner's id. As with what a lane gives back (`scripts.ts`), its first write needs no memory.
 */
export const bury = script(
  ['scheduled', 'ready', 'leases', 'since', 'wake', 'workers'],
  `${clock}${manyAtOnce}${wakeOne}${makeReady}
  local gone, anyGone = {}, false
  for _, id in ipairs(ARGV) do
    if redis.call('ZREM', workers, id) == 1 then anyGone = true end
    gone[id] = true
  end
  local leased, freed = redis.call('HGETALL', leases), {}
  for i = 1, #leased, 2 do
    if gone[string.match(leased[i + 1], '^[^.]*')] or gone[leased[i + 1]] then freed[#freed + 1] = leased[i] end
  end
  writeAll('HDEL', leases, freed)
  makeReady(freed)
  -- A worker may also have been given a wake-up at the moment at which its connection ended, and taken nothing.
  if #freed > 0 or (anyGone and redis.call('EXISTS', ready) == 1) then wakeOne() end
  return #freed`,
);

/**
 * A beat that counts for longer than this was noted before the clock of Redis went back, or by a Redis whose clock was
 * ahead of this one's: a worker that died with it would seem alive until then, and shut out those of another database.
 */
export const beatAheadMsMax = 60_000;

/**
 * `anotherThan`: a database that live workers write to and that is not the given one; '' if there is none. Needs the
 * key `databases`.
 */
const anotherDatabase = `
  local function anotherThan(own)
    for _, other in ipairs(redis.call('ZRANGEBYSCORE', databases, '(' .. inMs(0), inMs(${beatAheadMsMax}))) do
      if other ~= own then return other end
    end
    return ''
  end`;

/**
 * ARGV: worker id, for how many ms it counts as live (0: it leaves), its database ('' if that is not known), the
 * database that its last beat named (if any). A worker is not put on the list while live workers write to another
 * database, because it must not take what they are to apply. Answers that other database, or ''.
 *
 * If its own database has changed, as after a restore, it removes the former one: otherwise its own last beat would
 * shut it out until that has lapsed. It was the last to name the former one if both have the same deadline.
 */
export const beat = script(
  ['workers', 'databases'],
  `${clock}${anotherDatabase}
  if ARGV[2] == '0' then
    redis.call('ZREM', workers, ARGV[1])
    if redis.call('ZCARD', workers) == 0 then redis.call('DEL', databases) end
    return ''
  end
  for _, key in ipairs({ workers, databases }) do
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    redis.call('ZREMRANGEBYSCORE', key, '(' .. inMs(${beatAheadMsMax}), '+inf')
  end
  if ARGV[3] ~= '' then
    local former = ARGV[4] or ''
    if former ~= ARGV[3] and redis.call('ZSCORE', databases, former) == redis.call('ZSCORE', workers, ARGV[1]) then
      redis.call('ZREM', databases, former)
    end
    local other = anotherThan(ARGV[3])
    if other ~= '' then
      redis.call('ZREM', workers, ARGV[1])
      return other
    end
    redis.call('ZADD', databases, inMs(ARGV[2]), ARGV[3])
    redis.call('PEXPIRE', databases, ARGV[2])
  end
  redis.call('ZADD', workers, inMs(ARGV[2]), ARGV[1])
  redis.call('PEXPIRE', workers, ARGV[2])
  return ''`,
);

/** How many shops of the rotation one status looks at. The rotation moves on, so none is missed for long. */
const shopsAskedMax = 256;

/**
 * ARGV: the age in ms from which a shop's backlog is late, the database of the process that asks ('' if that is not
 * known). Answers the time, how many workers are live and not cut off from Postgres, for how many ms the oldest ready
 * material has waited, how many are ready, another database that live workers write to ('' if there is none), why
 * Postgres refuses what they write ('' if it does not), then the shops that are late. Fails if Redis refuses writes
 * (READONLY, OOM, MISCONF), because nothing can be queued then: a SET with XX writes nothing to a key that does not
 * exist, but is refused like any other write.
 */
export const status = script(
  ['ready', 'since', 'workers', 'databases', 'nothing', 'refusal', 'cutOff'],
  `${clock}${anotherDatabase}
  redis.call('SET', nothing, '', 'XX')
  local other = ARGV[2] == '' and '' or anotherThan(ARGV[2])
  local oldest, count, late = 0, 0, {}
  for _, shop in ipairs(redis.call('LRANGE', ready, 0, ${shopsAskedMax - 1})) do
    local list = ready .. ':' .. shop
    local head = redis.call('LINDEX', list, 0)
    local readySince = head and redis.call('HGET', since, head)
    local age = readySince and now - readySince or 0
    count = count + redis.call('LLEN', list)
    if age > oldest then oldest = age end
    if age > tonumber(ARGV[1]) then late[#late + 1] = shop end
  end
  local reason = redis.call('PTTL', refusal) <= ${refusalLastsMs} and redis.call('GET', refusal) or ''
  local live = 0
  for _, worker in ipairs(redis.call('ZRANGEBYSCORE', workers, '(' .. now, inMs(${beatAheadMsMax}))) do
    if redis.call('EXISTS', cutOff .. ':' .. worker) == 0 then live = live + 1 end
  end
  return { now, live, oldest, count, other, reason, unpack(late) }`,
);
