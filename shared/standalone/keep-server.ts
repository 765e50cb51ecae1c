import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '../runtime/outcome.js';
import { isAlive } from './processes.js';
import { restartPauseMs } from './restart-pause.js';

/** An embedded server that runs. */
export interface KeptServer {
  pid: number;
  port: number;
  stop(): Promise<void>;
}

export interface KeepServerOptions {
  name: string;
  /** Starts it once more, on this port where that is free; the signal ends the start. */
  start: (port: number, signal: AbortSignal) => Promise<Outcome<KeptServer>>;
  say: (line: string) => void;
}

const lookEveryMs = 250;

/**
 * Restarts an embedded server whenever it ends by itself (after a kill −9, or on a full disk), until it serves again.
 * It keeps its port, because the API and the workers were started with its address.
 *
 * @param first the running server. It need not be our child process, so it is looked at four times a second
 * @returns a function that ends it for good
 */
export function keepServer(first: KeptServer, { name, start, say }: KeepServerOptions): () => Promise<void> {
  const { port } = first;
  const stopping = new AbortController();
  const { signal } = stopping;
  let server: KeptServer | undefined = first;

  async function keep(): Promise<void> {
    while (server !== undefined) {
      while (isAlive(server.pid)) if (!(await pause(lookEveryMs, signal))) return;
      server = undefined;
      say(`${name}: ended by itself; starting it again`);
      server = await startAgain();
      if (server !== undefined) say(`${name}: serves again, on port ${port}`);
    }
  }

  async function startAgain(): Promise<KeptServer | undefined> {
    for (let attempts = 1; ; attempts += 1) {
      if (!(await pause(restartPauseMs(attempts), signal))) return undefined;
      const started = await attempt();
      if (started.ok) return started.value;
      if (signal.aborted) return undefined;
      // Said once: every attempt fails in the same way until somebody does something.
      if (attempts === 1) say(`${name}: ${started.problem}\n${name}: it is tried again until it starts`);
    }
  }

  async function attempt(): Promise<Outcome<KeptServer>> {
    try {
      const started = await start(port, signal);
      if (!started.ok || started.value.port === port) return started;
      await started.value.stop();
      return { ok: false, problem: `its port ${port} was taken while it was down` };
    } catch (error) {
      // Its log or its configuration could not even be written.
      return { ok: false, problem: (error as Error).message };
    }
  }

  const kept = keep();
  return async () => {
    stopping.abort();
    await kept;
    await server?.stop();
  };
}

/** Resolves to true once the time has passed, to false if it was aborted before. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal }).catch(() => false);
}
