/**
 * Fail-points: `node --import <this file>` with FAIL_POINTS set. In the sources a fail-point is nothing but the comment
 * `// fail-point: <name>`, so the built service has none; this loader turns the comment, in files under `dist/`, into a
 * call. A name that ends with `!sync` stands where nothing can be awaited.
 *
 * Each pass through an armed point is announced over IPC as `{ type: 'fail-point', name, pass, fires }`, before it acts.
 */
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/** @type {(url: string, context: unknown, next: (url: string, context: unknown) => Promise<{ format: string, source: unknown }>) => Promise<unknown>} */
export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (
    loaded.format !== 'module' ||
    !url.startsWith('file:') ||
    !url.includes('/dist/') ||
    url.includes('/node_modules/')
  ) {
    return loaded;
  }
  const source = String(loaded.source).replace(
    /^([ \t]*)\/\/ fail-point: ([\w-]+(?:!sync)?)[ \t]*$/gm,
    (_, indent, name) => {
      const call = `globalThis.failPoint(${JSON.stringify(name)});`;
      return name.endsWith('!sync') ? indent + call : `${indent}await ${call}`;
    },
  );
  return { ...loaded, source };
}

// The hooks run in a thread of their own, which loads this same file.
if (isMainThread) {
  const { createFailPoint } = await import('./fail-point-actions.mjs');
  globalThis.failPoint = createFailPoint(process.env.FAIL_POINTS ?? '');
  register(import.meta.url);
}
