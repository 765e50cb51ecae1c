/**
 * The order of a round: each begins with another one, and where there are more than two, every second round goes
 * backwards. So none comes right after the same one each time, whose load the caches, or the disk, may still be at.
 */
export function rotated<T>(all: readonly T[], round: number): T[] {
  const start = round % all.length;
  const turned = [...all.slice(start), ...all.slice(0, start)];
  return all.length > 2 && round % 2 === 0 ? turned.reverse() : turned;
}
