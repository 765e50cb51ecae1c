const pauseMs = 1_000;

/**
 * Lets a line through at most once a second, the first after a second: for a log, where a line for each step would be
 * too many. The line is only made where it is said.
 */
export function onceASecond(
  say: (line: string) => void,
  nowMs = () => performance.now(),
): (line: () => string) => void {
  let saidAtMs = nowMs();
  return (line) => {
    if (nowMs() - saidAtMs < pauseMs) return;
    saidAtMs = nowMs();
    say(line());
  };
}
