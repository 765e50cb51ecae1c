import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const entry = fileURLToPath(new URL('../../../dist/shared/database/migrate.js', import.meta.url));

/**
 * `npm run migrate` as an operator runs it. @param url undefined: DATABASE_URL is not set; @param isRead false: its
 * stdout is closed
 */
export function runMigrate(
  url: string | undefined,
  isRead = true,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], ...(url !== undefined && { DATABASE_URL: url }) };
  const child = spawn(process.execPath, [entry], { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 });
  const output = { stdout: '', stderr: '' };
  if (!isRead) child.stdout.destroy();
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}
