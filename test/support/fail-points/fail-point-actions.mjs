import { setTimeout as delay } from 'node:timers/promises';

/**
 * What an armed fail-point does: `FAIL_POINTS=after-take=kill:3,after-commit=delay:500`.
 * kill:n and stop:n (SIGKILL and SIGSTOP to itself) and throw:n at the n-th pass, delay:ms at every pass. One that was
 * stopped says so once it goes on.
 * A misspelt specification throws: a test that arms nothing would pass for the wrong reason.
 *
 * @typedef {{ action: 'kill' | 'stop' | 'throw' | 'delay', count: number, pass: number }} Armed
 */

const entryPattern = /^([\w-]+(?:!sync)?)=(kill|stop|throw|delay):([1-9]\d*)$/;

/** @param {string} specification */
export function createFailPoint(specification) {
  const armed = new Map(specification.split(',').filter(Boolean).map(parseEntry));
  return (/** @type {string} */ name) => {
    const point = armed.get(name);
    if (!point) return undefined;
    point.pass += 1;
    const fires = point.action === 'delay' || point.pass === point.count;
    const announced = announce({ type: 'fail-point', name, pass: point.pass, fires });
    if (name.endsWith('!sync')) return fires ? actNow(name, point) : undefined;
    return announced.then(() => (fires ? act(name, point) : undefined));
  };
}

/** @returns {[string, Armed]} */
function parseEntry(/** @type {string} */ entry) {
  const match = entryPattern.exec(entry.trim());
  if (!match) throw new Error(`FAIL_POINTS: ${JSON.stringify(entry)} is not <name>=<kill|stop|throw|delay>:<number>`);
  const [, name, action, count] = match;
  return [name, { action: /** @type {Armed['action']} */ (action), count: Number(count), pass: 0 }];
}

/** The announcement is out before a kill: its callback comes once the kernel has it. */
function announce(/** @type {object} */ message) {
  return new Promise((resolve) => {
    if (!process.send || !process.connected) resolve(undefined);
    else process.send(message, undefined, {}, () => resolve(undefined));
  });
}

function act(/** @type {string} */ name, /** @type {Armed} */ point) {
  if (point.action !== 'delay') return actNow(name, point);
  return delay(point.count);
}

/** Without awaiting: then the announcement went out within `send` itself, as long as the pipe had room. */
function actNow(/** @type {string} */ name, /** @type {Armed} */ point) {
  switch (point.action) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      break;
    case 'stop':
      process.kill(process.pid, 'SIGSTOP');
      void announce({ type: 'gone-on', name });
      break;
    case 'throw':
      throw new Error(`fail-point ${name}`);
    case 'delay':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, point.count);
      break;
  }
  return undefined;
}
