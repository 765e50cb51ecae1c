import { advance } from './advance-script.js';
import { clock, makeReady, manyAtOnce, queueOf, readyMs, returnActive, script, wakeOne } from './lua-parts.js';
import { refusalLastsMs } from './refusal.js';

/**
 * The scheduling of materials among workers, in Lua (pipeline §2.3–2.9). BullMQ's own script adds the jobs; these
 * decide whose turn it is, and hand the jobs out. All times are by Redis' clock. A lease consists of the material's
 * score in `scheduled` and its token in `leases`. Every script that a lane calls checks the token, and skips a material
 * whose lease the lane has lost.
 *
 * Further keys are built from these and from the queue prefix, which carry the same hash tag.
 */
const scheduling = `${clock}${manyAtOnce}${wakeOne}${makeReady}`;

/** ARGV: materials. Announces those not yet scheduled; answers how many. */
const announce = script(
  ['scheduled', 'ready', 'since', 'wake'],
  `${scheduling}
  local deadlines, new = readAll('ZMSCORE', scheduled, ARGV), {}
  for i, material in ipairs(ARGV) do
    if not deadlines[i] then new[#new + 1] = material end
  end
  if #new > 0 then
    makeReady(new)
    wakeOne()
  end
  return #new`,
);

/**
 * ARGV: pairs of material, job id. Announces those queued. Answers for each: 0 if the job is gone, 1 if its material is
 * in line, 2 if a lane has it, or has left it out for a moment.
 */
const announceQueued = script(
  ['scheduled', 'ready', 'since', 'wake'],
  `${scheduling}${queueOf}
  local found, new = {}, {}
  for i = 1, #ARGV, 2 do
    local state = redis.call('EXISTS', queueOf(ARGV[i]) .. ':' .. ARGV[i + 1])
    if state == 1 then
      if not redis.call('ZSCORE', scheduled, ARGV[i]) then new[#new + 1] = ARGV[i]
      elseif redis.call('HEXISTS', since, ARGV[i]) == 0 then state = 2 end
    end
    found[#found + 1] = state
  end
  if #new > 0 then
    makeReady(new)
    wakeOne()
  end
  return found`,
);

// A Redis whose memory is full refuses what may need more, as RPUSH and ZADD, unless the script has written already.
// What gives work back or keeps it must run then as well, so its first write is one that needs none.

/** ARGV: lease in ms, pairs of material and token. Extends the leases that are still owned. */
const renew = script(
  ['scheduled', 'leases'],
  `${clock}
  redis.call('HDEL', leases, '')
  for i = 2, #ARGV, 2 do
    if redis.call('HGET', leases, ARGV[i]) == ARGV[i + 1] then
      redis.call('ZADD', scheduled, now + ARGV[1], ARGV[i])
    end
  end`,
);

/**
 * ARGV: delay in ms, `counted` or `uncounted`, pairs of material and token. Gives materials back with their jobs in
 * order. They are ready at once, or, with a delay, at the first sweep after it. A delivery in which nothing was tried
 * is `uncounted`: otherwise a lock that another session holds for long enough would make the jobs fail that wait for
 * it.
 */
const giveBack = script(
  ['scheduled', 'ready', 'leases', 'since', 'wake'],
  `${scheduling}${queueOf}${returnActive}
  local back = {}
  for i = 3, #ARGV, 2 do
    if redis.call('HGET', leases, ARGV[i]) == ARGV[i + 1] then back[#back + 1] = ARGV[i] end
  end
  writeAll('HDEL', leases, back)
  for _, material in ipairs(back) do returnActive(queueOf(material), ARGV[2] == 'uncounted') end
  if ARGV[1] ~= '0' then
    writeAll('ZADD', scheduled, sameScore(inMs(ARGV[1]), back))
  elseif #back > 0 then
    makeReady(back)
    wakeOne()
  end
  return 1`,
);

/** ARGV: triples of material, token and job id. Removes jobs from materials that are still owned. */
const drop = script(
  ['leases'],
  `${queueOf}
  for i = 1, #ARGV, 3 do
    if redis.call('HGET', leases, ARGV[i]) == ARGV[i + 1] then
      local queue = queueOf(ARGV[i])
      redis.call('LREM', queue .. ':active', 1, ARGV[i + 2])
      redis.call('DEL', queue .. ':' .. ARGV[i + 2])
    end
  end
  return 1`,
);

/** A deadline further ahead than this was set before the clock of Redis went back. */
export const aheadMsMax = 2 * readyMs;

/**
 * ARGV: how many at most. Makes materials ready again whose lease or turn has run out, or lies too far ahead because
 * the clock went back. An owner that still lives learns that its lease is lost.
 */
const sweep = script(
  ['scheduled', 'ready', 'leases', 'since', 'wake'],
  `${scheduling}
  local late = redis.call('ZRANGEBYSCORE', scheduled, '-inf', now, 'LIMIT', 0, ARGV[1])
  local ahead = redis.call('ZRANGEBYSCORE', scheduled, inMs(${aheadMsMax}), '+inf', 'LIMIT', 0, ARGV[1])
  for _, material in ipairs(ahead) do
    late[#late + 1] = material
  end
  if #late == 0 then return 0 end
  writeAll('HDEL', leases, late)
  makeReady(late)
  -- A shop may have lost its place in the rotation. With two places it would have two turns until its list is empty.
  for _, material in ipairs(late) do
    local shop = shopOf(material)
    if not redis.call('LPOS', ready, shop) then redis.call('RPUSH', ready, shop) end
  end
  wakeOne()
  return #late`,
);

/**
 * ARGV: ids of workers whose connection is gone, or tokens of takes whose answer was lost. Removes these workers from
 * the list of the living, and makes ready what was held by them or taken under these tokens: the part of a token before
 * the dot is its owner's id.
 */
const bury = script(
  ['scheduled', 'ready', 'leases', 'since', 'wake', 'workers'],
  `${scheduling}
  local gone, anyGone = {}, false
  for _, id in ipairs(ARGV) do
    if redis.call('ZREM', workers, id) == 1 then anyGone = true end
    gone[id] = true
  end
  local leased, freed = redis.call('HGETALL', leases), {}
  for i = 1, #leased, 2 do
    if gone[string.match(leased[i + 1], '^[^.]*')] or gone[leased[i + 1]] then freed[#freed + 1] = leased[i] end
  end
  if #freed > 0 then
    writeAll('HDEL', leases, freed)
    makeReady(freed)
  end
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
const beat = script(
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
const status = script(
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

/** Each script by the name of its command. */
export const scripts = {
  rmAnnounce: announce,
  rmAnnounceQueued: announceQueued,
  rmAdvance: advance,
  rmRenew: renew,
  rmGiveBack: giveBack,
  rmDrop: drop,
  rmSweep: sweep,
  rmBury: bury,
  rmBeat: beat,
  rmStatus: status,
} as const;

export type ScriptName = keyof typeof scripts;
