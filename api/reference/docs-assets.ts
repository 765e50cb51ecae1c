import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The files of swagger-ui-dist that the page loads; no other is ever read. */
const packagedFiles = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

/** Two files of our own in place of the package's, whose start script opens another service's document. */
const ownFiles = {
  'init.js': {
    type: 'text/javascript; charset=utf-8',
    text: `'use strict';

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  // A pasted key lives as long as the page.
  persistAuthorization: false,
  // Its badge would be a picture from another host.
  validatorUrl: null,
});
`,
  },
  'page.css': {
    type: 'text/css; charset=utf-8',
    text: 'body {\n  margin: 0;\n  background: #fafafa;\n}\n',
  },
} as const;

export interface DocsFile {
  type: string;
  read: () => Buffer | Promise<Buffer>;
}

/** The parts of the page by name; no others are served. */
export const docsFiles: ReadonlyMap<string, DocsFile> = new Map<string, DocsFile>([
  ...Object.entries(packagedFiles).map(
    ([name, type]) => [name, { type, read: () => readFile(packaged(name)) }] as const,
  ),
  ...Object.entries(ownFiles).map(([name, { type, text }]) => [name, { type, read: () => Buffer.from(text) }] as const),
]);

export const docsFileNames: readonly string[] = [...docsFiles.keys()];

const require = createRequire(import.meta.url);

function packaged(name: string): string {
  return join(require.resolve('swagger-ui-dist/package.json'), '..', name);
}
