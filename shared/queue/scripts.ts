import { advance } from './advance-script.js';
import { clock, makeReady, manyAtOnce, queueOf, readyMs, returnActive, script, wakeOne } from './lua-parts.js';
import { beat, bury, status } from './presence-scripts.js';

/**
 * The scheduling of materials among workers, in Lua (pipeline §2.3–2.9). BullMQ's own script adds the jobs; these
 * decide whose turn it is, and hand the jobs out. All times are by Redis' clock. A lease consists of the material's
 * score in `scheduled` and its token in `leases`. Every script that a lane calls checks the token, and skips a material
 * whose lease the lane has lost. The scripts about the workers themselves are in `presence-scripts.ts`.
 *
 * Further keys are built from these and from the queue prefix, which carry the same hash tag.
 */
const scheduling = `${clock}${manyAtOnce}${wakeOne}${makeReady}`;

/** Puts materials in line, if there are any, and wakes a lane for them. */
const announceAll = `
  local function announceAll(materials)
    if #materials == 0 then return end
    makeReady(materials)
    wakeOne()
  end`;

/** ARGV: materials. Announces those not yet scheduled; answers how many. */
const announce = script(
  ['scheduled', 'ready', 'since', 'wake'],
  `${scheduling}${announceAll}
  local deadlines, new = readAll('ZMSCORE', scheduled, ARGV), {}
  for i, material in ipairs(ARGV) do
    if not deadlines[i] then new[#new + 1] = material end
  end
  announceAll(new)
  return #new`,
);

/**
 * ARGV: pairs of material, job id. Announces those queued. Answers for each: 0 if the job is gone, 1 if its material is
 * in line, 2 if a lane has it, or has left it out for a moment.
 */
const announceQueued = script(
  ['scheduled', 'ready', 'since', 'wake'],
  `${scheduling}${announceAll}${queueOf}
  local found, new = {}, {}
  for i = 1, #ARGV, 2 do
    local state = redis.call('EXISTS', queueOf(ARGV[i]) .. ':' .. ARGV[i + 1])
    if state == 1 then
      if not redis.call('ZSCORE', scheduled, ARGV[i]) then new[#new + 1] = ARGV[i]
      elseif redis.call('HEXISTS', since, ARGV[i]) == 0 then state = 2 end
    end
    found[#found + 1] = state
  end
  announceAll(new)
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
 * order. They are ready at once, or, with a delay, at the first sweep after it. An `uncounted` delivery is taken off
 * the count of each job again: otherwise a lock that another session holds for long enough would make the jobs fail
 * that wait for it.
 */
const giveBack = script(
  ['scheduled', 'ready', 'leases', 'since', 'wake'],
  `${scheduling}${announceAll}${queueOf}${returnActive}
  local back = {}
  for i = 3, #ARGV, 2 do
    if redis.call('HGET', leases, ARGV[i]) == ARGV[i + 1] then back[#back + 1] = ARGV[i] end
  end
  writeAll('HDEL', leases, back)
  for _, material in ipairs(back) do returnActive(queueOf(material), ARGV[2] == 'uncounted') end
  if ARGV[1] == '0' then
    announceAll(back)
  else
    writeAll('ZADD', scheduled, sameScore(inMs(ARGV[1]), back))
  end`,
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
  end`,
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
