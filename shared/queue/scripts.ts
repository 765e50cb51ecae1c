import { keys, queuePrefix } from './names.js';

/**
 * The scheduling of materials among workers, in Lua (pipeline §2.3–2.9). BullMQ's own script adds the jobs; these say
 * whose turn a material is, and hand its jobs out. All time is Redis' own. A lease is the material's score in `scheduled` with its token in `leases`;
 * every script of an owner checks the token and passes over what is no longer its own.
 *
 * Keys beyond KEYS are built from the queue prefix, which carries the same hash tag.
 */
const clock = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

const wakeOne = `
  local function wakeOne(wake) if redis.call('LLEN', wake) == 0 then redis.call('RPUSH', wake, '1') end end`;

/** An announced material that nobody takes within this is made ready once more by the sweep. */
const readyMs = 4_000;

/**
 * Shops take turns: `ready` is the rotation of those that have ready materials, and each has a list of its own, so that
 * the thousand materials of one do not stand before the one of another. A shop stands in the rotation while its list
 * holds anything; standing there without a list costs a look and no more.
 */
const makeReady = `
  local function makeReady(scheduled, ready, since, material)
    redis.call('ZADD', scheduled, now + ${readyMs}, material)
    local shop = string.match(material, '^[^.]*')
    if redis.call('RPUSH', ready .. ':' .. shop, material) == 1 then redis.call('RPUSH', ready, shop) end
    redis.call('HSETNX', since, material, now)
  end`;

/** Jobs an earlier owner left in active go back to the head of wait in their order: active holds the newest first. */
const returnActive = `
  local function returnActive(queue, uncounted)
    local left = redis.call('LRANGE', queue .. ':active', 0, -1)
    for _, job in ipairs(left) do
      redis.call('RPUSH', queue .. ':wait', job)
      if uncounted then redis.call('HINCRBY', queue .. ':' .. job, 'ats', -1) end
    end
    redis.call('DEL', queue .. ':active')
    return #left
  end`;

/** KEYS: scheduled, ready, since, wake. ARGV: materials. Does nothing for those that are scheduled already; answers how many were not. */
const announce = `${clock}${wakeOne}${makeReady}
  local announced = 0
  for _, material in ipairs(ARGV) do
    if not redis.call('ZSCORE', KEYS[1], material) then
      makeReady(KEYS[1], KEYS[2], KEYS[3], material)
      announced = announced + 1
    end
  end
  if announced > 0 then wakeOne(KEYS[4]) end
  return announced`;

/** KEYS: scheduled, ready, since, wake. ARGV: pairs of material and job id. Answers 1 for each job that is queued, which is announced. */
const announceQueued = `${clock}${wakeOne}${makeReady}
  local found = {}
  for i = 1, #ARGV, 2 do
    local exists = redis.call('EXISTS', '${queuePrefix}:' .. ARGV[i] .. ':' .. ARGV[i + 1])
    if exists == 1 and not redis.call('ZSCORE', KEYS[1], ARGV[i]) then
      makeReady(KEYS[1], KEYS[2], KEYS[3], ARGV[i])
      wakeOne(KEYS[4])
    end
    found[#found + 1] = exists
  end
  return found`;

/**
 * Moves a material's waiting jobs to active, oldest first, as BullMQ does (RPOP of wait, LPUSH on active, `ats` counts
 * the deliveries), but all of them at once and under the material's lease instead of a lock for each: one call instead
 * of one a job. What an earlier owner left in active goes back first. Stops at a number of jobs, and once the answer
 * holds so many bytes; the first job of an answer always fits.
 */
const fetch = `${returnActive}
  local bytesLeft = tonumber(ARGV[5])
  local function fetch(material)
    local queue = '${queuePrefix}:' .. material
    local found = { material }
    if redis.call('EXISTS', queue .. ':active') == 1 then returnActive(queue) end
    for _ = 1, tonumber(ARGV[4]) do
      if bytesLeft <= 0 then break end
      local job = redis.call('RPOPLPUSH', queue .. ':wait', queue .. ':active')
      if not job then break end
      local key = queue .. ':' .. job
      local data = redis.call('HGET', key, 'data') or ''
      found[#found + 1] = job
      found[#found + 1] = data
      found[#found + 1] = redis.call('HINCRBY', key, 'ats', 1)
      bytesLeft = bytesLeft - #data
    end
    return found
  end`;

/** Busy materials that a lane keeps while others are ready: half of what it holds, so that the other half takes turns. */
const keptMax = 16;

/**
 * A lane's whole step in Redis: finishes the jobs that were applied, lets go of the materials that have no more, takes
 * ready ones into the room, and fetches the jobs of all that it then holds.
 *
 * KEYS: scheduled, ready, leases, since, wake. ARGV: how many to hold at most, new token, lease in ms, jobs a material, bytes; then of
 * each material held: its name, its token, how many jobs are finished, their ids.
 *
 * A material without jobs is let go with all of its keys, in one step with the test, so that it is safe beside an
 * enqueue in either order: an earlier one is seen, a later one announces afresh. A job whose hash is gone (a flush in
 * between) comes with empty data and is finished like any other.
 *
 * Answers the time, how many leases were lost, how many of the materials were held before; then for each material that
 * is held now: its name, and of each of its jobs the id, the data, and how often it was handed out.
 */
const advance = `${clock}${wakeOne}${makeReady}${fetch}
  local kept, lost = {}, 0
  local i = 6
  while i <= #ARGV do
    local material, token, finished = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
    if redis.call('HGET', KEYS[3], material) == token then
      local queue = '${queuePrefix}:' .. material
      for j = i + 3, i + 2 + finished do
        redis.call('LREM', queue .. ':active', 1, ARGV[j])
        redis.call('DEL', queue .. ':' .. ARGV[j])
      end
      if redis.call('EXISTS', queue .. ':wait', queue .. ':active') == 0 then
        redis.call('DEL', queue .. ':meta', queue .. ':id', queue .. ':events', queue .. ':marker', queue .. ':stalled')
        redis.call('HDEL', KEYS[3], material)
        redis.call('ZREM', KEYS[1], material)
      elseif #kept >= ${keptMax} and redis.call('EXISTS', KEYS[2]) == 1 then
        redis.call('HDEL', KEYS[3], material)
        makeReady(KEYS[1], KEYS[2], KEYS[4], material)
      else
        redis.call('ZADD', KEYS[1], now + ARGV[3], material)
        kept[#kept + 1] = material
      end
    else
      lost = lost + 1
    end
    i = i + 3 + finished
  end

  local answer = { now, lost, #kept }
  for _, material in ipairs(kept) do answer[#answer + 1] = fetch(material) end
  local room = ARGV[1] - #kept
  while room > 0 do
    local shop = redis.call('LPOP', KEYS[2])
    if not shop then break end
    local list = KEYS[2] .. ':' .. shop
    local material = redis.call('LPOP', list)
    if redis.call('EXISTS', list) == 1 then redis.call('RPUSH', KEYS[2], shop) end
    local deadline = material and redis.call('ZSCORE', KEYS[1], material)
    -- The list may hold a material twice, or one that is no longer scheduled.
    if deadline and (redis.call('HEXISTS', KEYS[3], material) == 0 or tonumber(deadline) <= now) then
      redis.call('ZADD', KEYS[1], now + ARGV[3], material)
      redis.call('HSET', KEYS[3], material, ARGV[2])
      redis.call('HDEL', KEYS[4], material)
      answer[#answer + 1] = fetch(material)
      room = room - 1
    end
  end
  if redis.call('EXISTS', KEYS[2]) == 1 then wakeOne(KEYS[5]) end
  return answer`;

/** KEYS: scheduled, leases. ARGV: lease in ms, pairs of material and token. Answers how many are still owned. */
const renew = `${clock}
  local owned = 0
  for i = 2, #ARGV, 2 do
    if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then
      redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i])
      owned = owned + 1
    end
  end
  return owned`;

/**
 * KEYS: scheduled, ready, leases, since, wake. ARGV: delay in ms, whether this counts as a delivery, pairs of material
 * and token. Gives materials back with their jobs in order: ready at once, or, with a delay, when the sweep next passes
 * after it. Not counted is a delivery in which nothing was tried, or a lock held long enough would fail the jobs behind it.
 */
const giveBack = `${clock}${wakeOne}${makeReady}${returnActive}
  for i = 3, #ARGV, 2 do
    local material = ARGV[i]
    if redis.call('HGET', KEYS[3], material) == ARGV[i + 1] then
      returnActive('${queuePrefix}:' .. material, ARGV[2] == 'uncounted')
      redis.call('HDEL', KEYS[3], material)
      if ARGV[1] == '0' then
        makeReady(KEYS[1], KEYS[2], KEYS[4], material)
        wakeOne(KEYS[5])
      else
        redis.call('ZADD', KEYS[1], now + ARGV[1], material)
      end
    end
  end
  return 1`;

/** No deadline is as far ahead as this: it was set before the clock of Redis went back. */
const aheadMsMax = 2 * readyMs;

/**
 * KEYS: scheduled, ready, leases, since, wake. ARGV: how many at most. Makes ready whose lease, or turn, has run out, or
 * would not for as long as the clock went back; an owner that lives has renewed its lease since, or finds it lost.
 */
const sweep = `${clock}${wakeOne}${makeReady}
  local late = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
  for _, material in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], now + ${aheadMsMax}, '+inf', 'LIMIT', 0, ARGV[1])) do
    late[#late + 1] = material
  end
  for _, material in ipairs(late) do
    redis.call('HDEL', KEYS[3], material)
    makeReady(KEYS[1], KEYS[2], KEYS[4], material)
    -- Its shop may have lost its place in the rotation. Twice would be two turns, for as long as its list holds anything.
    local shop = string.match(material, '^[^.]*')
    if not redis.call('LPOS', KEYS[2], shop) then redis.call('RPUSH', KEYS[2], shop) end
  end
  if #late > 0 then wakeOne(KEYS[5]) end
  return #late`;

/**
 * KEYS: scheduled, ready, leases, since, wake, workers. ARGV: ids of workers whose connection is gone. Takes them off the
 * list of the living, and makes ready what they held: the part of a token before the dot is its owner's.
 */
const bury = `${clock}${wakeOne}${makeReady}
  local gone = {}
  for _, id in ipairs(ARGV) do
    redis.call('ZREM', KEYS[6], id)
    gone[id] = true
  end
  local held = redis.call('HGETALL', KEYS[3])
  local freed = 0
  for i = 1, #held, 2 do
    if gone[string.match(held[i + 1], '^[^.]*')] then
      redis.call('HDEL', KEYS[3], held[i])
      makeReady(KEYS[1], KEYS[2], KEYS[4], held[i])
      freed = freed + 1
    end
  end
  if freed > 0 then wakeOne(KEYS[5]) end
  return freed`;

/** KEYS: workers. ARGV: worker id, how long it counts as live in ms (0: it leaves). */
const beat = `${clock}
  if ARGV[2] == '0' then return redis.call('ZREM', KEYS[1], ARGV[1]) end
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** A status looks at so many shops of the rotation, which moves on: none is overlooked for long. */
const shopsAskedMax = 256;

/**
 * KEYS: ready, since, workers, nothing. ARGV: the age in ms from which a shop's backlog is late. Answers the time, how many
 * workers live, for how many ms the oldest ready material waits, how many are ready, then the shops that are late. Fails
 * where Redis refuses what is written (READONLY, OOM, MISCONF): nothing can be queued there. Of a key that is not there XX
 * writes nothing, and is refused as any other write.
 */
const status = `${clock}
  redis.call('SET', KEYS[4], '', 'XX')
  local oldest, count, late = 0, 0, {}
  for _, shop in ipairs(redis.call('LRANGE', KEYS[1], 0, ${shopsAskedMax - 1})) do
    local list = KEYS[1] .. ':' .. shop
    local head = redis.call('LINDEX', list, 0)
    local since = head and redis.call('HGET', KEYS[2], head)
    local age = since and now - since or 0
    count = count + redis.call('LLEN', list)
    if age > oldest then oldest = age end
    if age > tonumber(ARGV[1]) then late[#late + 1] = shop end
  end
  return { now, redis.call('ZCOUNT', KEYS[3], '(' .. now, '+inf'), oldest, count, unpack(late) }`;

const { scheduled, ready, leases, since, wake, workers, nothing } = keys;

/** Each script with the keys that it is always called with. */
export const scripts = {
  rmAnnounce: { lua: announce, keys: [scheduled, ready, since, wake] },
  rmAnnounceQueued: { lua: announceQueued, keys: [scheduled, ready, since, wake] },
  rmAdvance: { lua: advance, keys: [scheduled, ready, leases, since, wake] },
  rmRenew: { lua: renew, keys: [scheduled, leases] },
  rmGiveBack: { lua: giveBack, keys: [scheduled, ready, leases, since, wake] },
  rmSweep: { lua: sweep, keys: [scheduled, ready, leases, since, wake] },
  rmBury: { lua: bury, keys: [scheduled, ready, leases, since, wake, workers] },
  rmBeat: { lua: beat, keys: [workers] },
  rmStatus: { lua: status, keys: [ready, since, workers, nothing] },
} as const;

export type ScriptName = keyof typeof scripts;
