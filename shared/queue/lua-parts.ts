import { keys, queuePrefix } from './names.js';

interface Script {
  lua: string;
  /** In the order of KEYS. */
  keys: string[];
}

/** A script whose Lua has its keys as locals of these names. It is run with them in the same order. */
export function script(names: (keyof typeof keys)[], lua: string): Script {
  const places = names.map((_, index) => `KEYS[${String(index + 1)}]`);
  return {
    lua: `local ${names.join(', ')} = ${places.join(', ')}\n${lua}`,
    keys: names.map((name) => keys[name]),
  };
}

// What follows are parts of Lua that several scripts begin with, behind the locals of their keys, which some of these
// use. Each call of a command costs Redis some 0.7 µs beyond its work, so one call serves many materials: 20 calls a
// request instead of 37, if each request is for another material.

/**
 * `now`: ms of Redis' clock. `inMs`: a later moment, as text, because a number would be formatted anew in each call.
 */
export const clock = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local function inMs(delay) return string.format('%.0f', now + delay) end`;

/** Below the 8,000 that the stack of Redis' Lua holds; even, so that pairs stay together. */
const argumentsPerCallMax = 1_000;

/**
 * `writeAll` runs a command on a key with any number of arguments (with none it does not run it) and returns the answer
 * of its last call. `readAll` asks for any number of fields or members and returns their values, `false` for what is
 * not there. `sameScore` and `sameValue` build the arguments that give each name the same score or value.
 */
export const manyAtOnce = `
  local function writeAll(command, key, arguments)
    local answer
    for first = 1, #arguments, ${argumentsPerCallMax} do
      local last = math.min(first + ${argumentsPerCallMax - 1}, #arguments)
      answer = redis.call(command, key, unpack(arguments, first, last))
    end
    return answer
  end
  local function readAll(command, key, names)
    local values = {}
    for first = 1, #names, ${argumentsPerCallMax} do
      local last = math.min(first + ${argumentsPerCallMax - 1}, #names)
      for i, value in ipairs(redis.call(command, key, unpack(names, first, last))) do values[first + i - 1] = value end
    end
    return values
  end
  local function sameScore(score, names)
    local arguments = {}
    for i, name in ipairs(names) do arguments[2 * i - 1], arguments[2 * i] = score, name end
    return arguments
  end
  local function sameValue(names, value)
    local arguments = {}
    for i, name in ipairs(names) do arguments[2 * i - 1], arguments[2 * i] = name, value end
    return arguments
  end`;

/** Needs the key `wake`. */
export const wakeOne = `
  local function wakeOne() if redis.call('LLEN', wake) == 0 then redis.call('RPUSH', wake, '1') end end`;

/** If nobody takes a ready material within this time, the sweep makes it ready once more. */
export const readyMs = 4_000;

/**
 * Puts materials in line. Shops take turns: `ready` is the rotation of the shops that have ready materials, and each
 * shop has a list of its own, so that the thousand materials of one shop are not served before the single one of
 * another. A shop is in the rotation while its list has any; one that is there without a list does no harm. Needs
 * `clock`, `manyAtOnce` and the keys `scheduled`, `ready` and `since`.
 *
 * `since` has an entry for each material in line. A material in line gets no second place: while Postgres was away for
 * an hour, a further place every four seconds made a line of 1,500 materials 1.4 million long, and one take then walked
 * it for five seconds. (If the shop has no list, the material is not in line, whatever `since` says.) One that is given
 * twice, as for two jobs of it that were lost, gets one place as well.
 */
export const makeReady = `
  local function shopOf(material) return string.match(material, '^[^.]*') end
  local function makeReady(materials)
    writeAll('ZADD', scheduled, sameScore(inMs(${readyMs}), materials))
    local before, new = readAll('HMGET', since, materials), {}
    local shops, lines, placed = {}, {}, {}
    for i, material in ipairs(materials) do
      if not before[i] then new[#new + 1] = material end
      local shop = shopOf(material)
      if not lines[shop] then
        shops[#shops + 1] = shop
        lines[shop] = {}
      end
      if not placed[material] and (not before[i] or redis.call('EXISTS', ready .. ':' .. shop) == 0) then
        placed[material] = true
        table.insert(lines[shop], material)
      end
    end
    writeAll('HSET', since, sameValue(new, inMs(0)))
    for _, shop in ipairs(shops) do
      local length = writeAll('RPUSH', ready .. ':' .. shop, lines[shop])
      if length and length == #lines[shop] then redis.call('RPUSH', ready, shop) end
    end
  end`;

export const queueOf = `
  local function queueOf(material) return '${queuePrefix}:' .. material end`;

/** Jobs that an earlier owner left in `active`, which has the newest first, go back to the head of `wait` in order. */
export const returnActive = `
  local function returnActive(queue, uncounted)
    for _, job in ipairs(redis.call('LRANGE', queue .. ':active', 0, -1)) do
      redis.call('RPUSH', queue .. ':wait', job)
      if uncounted then redis.call('HINCRBY', queue .. ':' .. job, 'ats', -1) end
    end
    redis.call('DEL', queue .. ':active')
  end`;
