import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { PublicContent, PublicFile, PublicFiles } from '../public-file.js';
import { docsFiles } from './docs-assets.js';
import type { DocsFile } from './docs-assets.js';
import { docsHeaders, docsPage } from './docs-page.js';
import { openApiDocument } from './document.js';
import type { DocumentedRoute } from './document.js';

/**
 * `/openapi.json`, `/docs` and its parts (contract §1), outside of `/v1` and its envelope. The document is made once,
 * here, from the routes; the page's parts are read when they are first asked for.
 */
export function createReference(routes: readonly DocumentedRoute[], parts = docsFiles): PublicFiles {
  const document = Buffer.from(JSON.stringify(openApiDocument(routes)));
  const files: [string, PublicFile][] = [
    ['/openapi.json', publicFile('application/json; charset=utf-8', () => document)],
    ['/docs', publicFile('text/html; charset=utf-8', () => Buffer.from(docsPage), docsHeaders)],
  ];
  for (const [name, { type, read }] of parts) files.push([`/docs/${name}`, publicFile(type, read)]);
  return new Map(files);
}

function publicFile(type: string, read: DocsFile['read'], headers: Readonly<Record<string, string>> = {}): PublicFile {
  let kept: Promise<PublicContent> | undefined;
  return {
    type,
    headers,
    content: () => {
      kept ??= load(read).catch((error: unknown) => {
        // So that the next request tries again.
        kept = undefined;
        // Ours has no code, by which a lack of files (EMFILE) would be taken for a Postgres that is away.
        throw new Error('a public file cannot be read', { cause: error });
      });
      return kept;
    },
  };
}

async function load(read: DocsFile['read']): Promise<PublicContent> {
  const plain = await read();
  const sum = createHash('sha256').update(plain).digest('hex').slice(0, etagDigits);
  return { plain, gzipped: await compress(plain), etag: `W/"${sum}"` };
}

/** 64 bits are enough to tell the versions of one file apart. */
const etagDigits = 16;

const compress = promisify<Buffer, Buffer>(gzip);
