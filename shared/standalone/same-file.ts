import { existsSync, realpathSync } from 'node:fs';

/** Whether two paths lead to the same place, however they are spelt; false where one leads nowhere. */
export function sameFile(a: string, b: string): boolean {
  return existsSync(a) && existsSync(b) && realpathSync(a) === realpathSync(b);
}
