/**
 * The CPU time that a piece of work takes this process, in milliseconds. However busy the machine is, one pass over an
 * input and a pass for each of its characters are far apart.
 */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
