/**
 * What a piece of work takes this process on its cores, in milliseconds: however busy the machine is, what takes one pass
 * over its input and what takes a pass for each character of it are far apart.
 */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
