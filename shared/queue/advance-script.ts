import { materialsPerCycleMax } from './limits.js';
import { clock, makeReady, manyAtOnce, queueOf, returnActive, script, wakeOne } from './lua-parts.js';

/** How many busy materials a lane keeps while others are ready: half of what it holds. The others take turns. */
const keptMax = materialsPerCycleMax / 2;

/** How many places in line one take looks at, so that a long line of materials that are gone cannot hold up Redis. */
const lookedAtMax = 1_000;

/**
 * Finishes the jobs that were applied, and sorts the materials by what is left of them. An idle one loses all of its
 * keys in the same step as the test, so no enqueue comes in between: one before it is seen, and one after it announces
 * the material anew. Of the busy ones some are kept, and the others go back in line. A job whose hash is gone (after a
 * flush) is finished like any other.
 */
const finish = `
  local kept, lost = {}, 0
  local worked, places = {}, {}
  local at = 6
  while at <= #ARGV do
    worked[#worked + 1] = ARGV[at]
    places[#places + 1] = at
    at = at + 3 + ARGV[at + 2]
  end
  local function finish()
    local tokens, othersWait = readAll('HMGET', leases, worked), redis.call('EXISTS', ready) == 1
    local idle, back, goneKeys = {}, {}, {}
    for i, material in ipairs(worked) do
      local place, queue = places[i], queueOf(material)
      if tokens[i] ~= ARGV[place + 1] then
        lost = lost + 1
      else
        for j = place + 3, place + 2 + ARGV[place + 2] do
          redis.call('LREM', queue .. ':active', 1, ARGV[j])
          goneKeys[#goneKeys + 1] = queue .. ':' .. ARGV[j]
        end
        if redis.call('EXISTS', queue .. ':wait', queue .. ':active') == 0 then
          idle[#idle + 1] = material
          for _, part in ipairs({ 'meta', 'id', 'events', 'marker' }) do
            goneKeys[#goneKeys + 1] = queue .. ':' .. part
          end
        elseif #kept >= ${keptMax} and othersWait then
          back[#back + 1] = material
        else
          kept[#kept + 1] = material
        end
      end
    end
    -- DEL takes keys alone, so the first of them stands where other commands have their key.
    writeAll('DEL', goneKeys[1], goneKeys)
    writeAll('HDEL', leases, idle)
    writeAll('HDEL', leases, back)
    writeAll('ZREM', scheduled, idle)
    writeAll('ZADD', scheduled, sameScore(leaseEnd, kept))
    makeReady(back)
  end`;

/**
 * Takes ready materials, no more than there is room for: an equal part of the room for each shop in the rotation, and
 * again while there is room and anything is ready. A line may contain a material that is no longer scheduled, which is
 * skipped, or the same one twice, which is taken once.
 */
const take = `
  local function nextInLine(count)
    local shops, found = redis.call('LLEN', ready), {}
    if shops == 0 then return nil end
    local part = math.max(1, math.floor(count / shops))
    for _ = 1, math.min(count, shops) do
      local shop = redis.call('LPOP', ready)
      local line = redis.call('LPOP', ready .. ':' .. shop, part) or {}
      for _, material in ipairs(line) do found[#found + 1] = material end
      if #line == part and redis.call('EXISTS', ready .. ':' .. shop) == 1 then redis.call('RPUSH', ready, shop) end
    end
    return found
  end
  local function take(room, token)
    local taken, isTaken, lookedAt = {}, {}, 0
    while #taken < room and lookedAt < ${lookedAtMax} do
      local found = nextInLine(room - #taken)
      if not found then break end
      lookedAt = lookedAt + #found
      writeAll('HDEL', since, found)
      local deadlines, tokens = readAll('ZMSCORE', scheduled, found), readAll('HMGET', leases, found)
      for i, material in ipairs(found) do
        local isFree = deadlines[i] and (not tokens[i] or tonumber(deadlines[i]) <= now)
        if isFree and not isTaken[material] then
          taken[#taken + 1] = material
          isTaken[material] = true
        end
      end
    end
    writeAll('ZADD', scheduled, sameScore(leaseEnd, taken))
    writeAll('HSET', leases, sameValue(taken, token))
    return taken
  end`;

/**
 * Moves a material's waiting jobs to active, oldest first, as BullMQ does (out of `wait` on the right, into `active` on
 * the left, `ats` counts the deliveries), but all of them at once, and under the material's lease instead of a lock for
 * each job. Stops at a number of jobs, or once the whole answer has so many bytes; its first job always fits. A job
 * whose hash is gone comes with empty data.
 */
const fetch = `
  local bytesLeft = tonumber(ARGV[5])
  local function fetch(material, count)
    local queue, found, given = queueOf(material), { material }, {}
    local jobs = count > 0 and bytesLeft > 0 and redis.call('RPOP', queue .. ':wait', count) or {}
    for _, job in ipairs(jobs) do
      if bytesLeft <= 0 then break end
      local key = queue .. ':' .. job
      local data = redis.call('HGET', key, 'data') or ''
      found[#found + 1] = job
      found[#found + 1] = data
      found[#found + 1] = redis.call('HINCRBY', key, 'ats', 1)
      given[#given + 1] = job
      bytesLeft = bytesLeft - #data
    end
    writeAll('LPUSH', queue .. ':active', given)
    for i = #jobs, #given + 1, -1 do redis.call('RPUSH', queue .. ':wait', jobs[i]) end
    return found
  end
  -- What an earlier owner left in active goes back first.
  local function returnLeft(materials)
    local lists = {}
    for i, material in ipairs(materials) do lists[i] = queueOf(material) .. ':active' end
    if #lists == 0 or redis.call('EXISTS', unpack(lists)) == 0 then return end
    for _, material in ipairs(materials) do returnActive(queueOf(material)) end
  end`;

/**
 * A lane's whole step in Redis: finishes the jobs that were applied, releases the materials that have no more, takes
 * ready ones while there is room, and fetches the jobs of all that it then holds.
 *
 * ARGV: how many materials to hold at most, a new token, the lease in ms, the most jobs of a material, the most bytes;
 * then for each material held so far: its name, its token, how many of its jobs are finished, their ids.
 *
 * Answers the time, how many leases were lost, how many materials were kept; then for each material that is held now,
 * those kept first: its name, and for each of its jobs the id, the data, and the number of its deliveries.
 */
export const advance = script(
  ['scheduled', 'ready', 'leases', 'since', 'wake'],
  `${clock}${manyAtOnce}${wakeOne}${makeReady}${queueOf}${returnActive}
  local leaseEnd = inMs(ARGV[3])
  ${finish}${take}${fetch}
  finish()
  local held = {}
  for _, material in ipairs(kept) do held[#held + 1] = material end
  for _, material in ipairs(take(ARGV[1] - #kept, ARGV[2])) do held[#held + 1] = material end
  returnLeft(held)
  local answer = { now, lost, #kept }
  for _, material in ipairs(held) do answer[#answer + 1] = fetch(material, tonumber(ARGV[4])) end
  if redis.call('EXISTS', ready) == 1 then wakeOne() end
  return answer`,
);
