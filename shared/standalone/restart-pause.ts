const msMin = 250;
const msMax = 5_000;

/** The pause before something is started again, by how often it has ended in a row: 0.25 s, 0.5 s … 5 s. */
export function restartPauseMs(failures: number): number {
  return Math.min(msMin * 2 ** (failures - 1), msMax);
}
