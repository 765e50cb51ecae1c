import { keys } from './names.js';

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
