import { echoMsMax } from '../../shared/runtime/shutdown.js';

/**
 * What a Ctrl-C does: the first ends the load, but not the report; a second one ends everything. What comes close behind
 * the first is its echo: npm passes on what the terminal has sent already.
 *
 * @returns to be called at each SIGINT
 */
export function createInterrupt(
  deps: { stop: () => void; exit: () => void },
  nowMs = () => performance.now(),
): () => void {
  let firstAtMs: number | undefined;
  return () => {
    if (firstAtMs === undefined) {
      firstAtMs = nowMs();
      deps.stop();
    } else if (nowMs() - firstAtMs > echoMsMax) {
      deps.exit();
    }
  };
}
