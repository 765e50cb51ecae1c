import { keys, queuePrefix } from './names.js';

/**
 * The scheduling of materials among workers, in Lua (pipeline §2.3–2.9). BullMQ's own scripts move the jobs; these say
 * whose turn it is. All time is Redis' own. A lease is the material's score in `scheduled` with its token in `leases`;
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

const makeReady = `
  local function makeReady(scheduled, ready, since, material)
    redis.call('ZADD', scheduled, now + ${readyMs}, material)
    redis.call('RPUSH', ready, material)
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

/** KEYS: scheduled, ready, since, wake. ARGV: material. Does nothing for one that is scheduled already. */
const announce = `${clock}${wakeOne}${makeReady}
  if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
  makeReady(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
  wakeOne(KEYS[4])
  return 1`;

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
 * KEYS: scheduled, ready, leases, since, wake. ARGV: how many, token, lease in ms.
 * Answers the time, then three of each material: its name, and how many jobs stand in wait and in active.
 */
const take = `${clock}${wakeOne}
  local taken = { now }
  local room = tonumber(ARGV[1])
  while room > 0 do
    local material = redis.call('LPOP', KEYS[2])
    if not material then break end
    local deadline = redis.call('ZSCORE', KEYS[1], material)
    local leased = redis.call('HEXISTS', KEYS[3], material) == 1 and deadline and tonumber(deadline) > now
    if deadline and not leased then
      redis.call('ZADD', KEYS[1], now + ARGV[3], material)
      redis.call('HSET', KEYS[3], material, ARGV[2])
      redis.call('HDEL', KEYS[4], material)
      local queue = '${queuePrefix}:' .. material
      taken[#taken + 1] = material
      taken[#taken + 1] = redis.call('LLEN', queue .. ':wait')
      taken[#taken + 1] = redis.call('LLEN', queue .. ':active')
      room = room - 1
    end
  end
  if redis.call('LLEN', KEYS[2]) > 0 then wakeOne(KEYS[5]) end
  return taken`;

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

/** KEYS: leases. ARGV: pairs of material and token. Answers for each how many jobs wait then, or -1 where it is not owned. */
const recover = `${returnActive}
  local waiting = {}
  for i = 1, #ARGV, 2 do
    if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
      local queue = '${queuePrefix}:' .. ARGV[i]
      returnActive(queue)
      waiting[#waiting + 1] = redis.call('LLEN', queue .. ':wait')
    else
      waiting[#waiting + 1] = -1
    end
  end
  return waiting`;

/**
 * KEYS: scheduled, leases. ARGV: lease in ms, pairs of material and token.
 * A material without jobs is let go with all of its keys, in one step with the test, so that it is safe beside an
 * enqueue in either order: an earlier one is seen, a later one announces afresh. Answers the time, then for each
 * material its jobs in wait and in active, where the lease is kept; -1, -1 where it was let go; -2, -2 where it is not owned.
 */
const release = `${clock}
  local kept = { now }
  for i = 2, #ARGV, 2 do
    local material = ARGV[i]
    local wait, active = -2, -2
    if redis.call('HGET', KEYS[2], material) == ARGV[i + 1] then
      local queue = '${queuePrefix}:' .. material
      wait = redis.call('LLEN', queue .. ':wait')
      active = redis.call('LLEN', queue .. ':active')
      if wait == 0 and active == 0 then
        redis.call('DEL', queue .. ':meta', queue .. ':id', queue .. ':events', queue .. ':marker', queue .. ':stalled')
        redis.call('HDEL', KEYS[2], material)
        redis.call('ZREM', KEYS[1], material)
        wait, active = -1, -1
      else
        redis.call('ZADD', KEYS[1], now + ARGV[1], material)
      end
    end
    kept[#kept + 1] = wait
    kept[#kept + 1] = active
  end
  return kept`;

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

/** KEYS: scheduled, ready, leases, since, wake. ARGV: how many at most. Makes ready whose lease, or turn, has run out. */
const sweep = `${clock}${wakeOne}${makeReady}
  local late = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
  for _, material in ipairs(late) do
    redis.call('HDEL', KEYS[3], material)
    makeReady(KEYS[1], KEYS[2], KEYS[4], material)
  end
  if #late > 0 then wakeOne(KEYS[5]) end
  return #late`;

/** KEYS: workers. ARGV: worker id, how long it counts as live in ms (0: it leaves). */
const beat = `${clock}
  if ARGV[2] == '0' then return redis.call('ZREM', KEYS[1], ARGV[1]) end
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS: ready, since, workers. Answers the time, how many workers live, and for how many ms the head of ready waits. */
const status = `${clock}
  local head = redis.call('LINDEX', KEYS[1], 0)
  local since = head and redis.call('HGET', KEYS[2], head)
  return { now, redis.call('ZCOUNT', KEYS[3], '(' .. now, '+inf'), since and now - since or 0 }`;

const { scheduled, ready, leases, since, wake, workers } = keys;

/** Each script with the keys that it is always called with. */
export const scripts = {
  rmAnnounce: { lua: announce, keys: [scheduled, ready, since, wake] },
  rmAnnounceQueued: { lua: announceQueued, keys: [scheduled, ready, since, wake] },
  rmTake: { lua: take, keys: [scheduled, ready, leases, since, wake] },
  rmRenew: { lua: renew, keys: [scheduled, leases] },
  rmRecover: { lua: recover, keys: [leases] },
  rmRelease: { lua: release, keys: [scheduled, leases] },
  rmGiveBack: { lua: giveBack, keys: [scheduled, ready, leases, since, wake] },
  rmSweep: { lua: sweep, keys: [scheduled, ready, leases, since, wake] },
  rmBeat: { lua: beat, keys: [workers] },
  rmStatus: { lua: status, keys: [ready, since, workers] },
} as const;

export type ScriptName = keyof typeof scripts;
