import { runCommand } from './processes.js';

/** A Redis or Valkey server that can be run here. */
export interface RedisProgram {
  file: string;
  /** Set for one whose libraries stand beside it. */
  libraryPath?: string;
  version: string;
  source: 'PATH' | 'Debian package';
}

const versionMsMax = 5_000;

/**
 * The version a server program prints: "Redis server v=7.0.15 …" or "Valkey server v=8.1.1 …"; `undefined` when it does
 * not run.
 */
export async function versionOf(
  program: { file: string; libraryPath?: string },
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const { code, output } = await runCommand({
    file: program.file,
    args: ['--version'],
    msMax: versionMsMax,
    env: redisEnv(program, env),
  });
  return code === 0 ? /\bv=(\d+\.\d+\.\d+)/.exec(output)?.[1] : undefined;
}

/** LMOVE and the `GET` option of SET, which BullMQ's scripts need, are of 6.2. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 2);
}

/** What its process gets to see: nothing of the user's but the PATH, and the libraries beside it. */
export function redisEnv({ libraryPath }: { libraryPath?: string }, { PATH }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { PATH, LC_ALL: 'C', ...(libraryPath ? { LD_LIBRARY_PATH: libraryPath } : {}) };
}
