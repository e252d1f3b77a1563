import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BaseAddresses } from '../../config/server-settings.js';
import { StaticContent } from './static-content.js';

/** The URLs are relative to /docs, so that a proxy can add a path prefix. */
const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Animal Adoption Store Service: interface</title>
    <link rel="icon" type="image/png" sizes="32x32" href="docs/favicon-32x32.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/index.css">
  </head>
  <body>
    <noscript>This page needs JavaScript. The interface description: <a href="openapi.yaml">openapi.yaml</a>.</noscript>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script type="module" src="docs/start.js"></script>
  </body>
</html>
`;

const require = createRequire(import.meta.url);

/** The files that the page loads, by name under /docs/. */
const FILES: Readonly<Record<string, () => string>> = {
  'swagger-ui.css': () => require.resolve('swagger-ui-dist/swagger-ui.css'),
  'index.css': () => require.resolve('swagger-ui-dist/index.css'),
  'swagger-ui-bundle.js': () => require.resolve('swagger-ui-dist/swagger-ui-bundle.js'),
  'favicon-32x32.png': () => require.resolve('swagger-ui-dist/favicon-32x32.png'),
  'start.js': () => fileURLToPath(new URL('./browser/start-swagger-ui.js', import.meta.url)),
};

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
};

export const DOCS_PAGE = new StaticContent('text/html; charset=utf-8', HTML);

export const DOCS_FILE_NAMES: readonly string[] = Object.keys(FILES);

const loaded = new Map<string, Promise<StaticContent>>();

/** Returns a file of the page, cached after the first read. @throws when it cannot be read */
export function docsFile(name: string): Promise<StaticContent> {
  let content = loaded.get(name);
  if (!content) {
    content = readDocsFile(name);
    loaded.set(name, content);
    // The next request reads the file again, for example after too many files were open.
    content.catch(() => loaded.delete(name));
  }
  return content;
}

async function readDocsFile(name: string): Promise<StaticContent> {
  const path = FILES[name]?.() ?? '';
  return new StaticContent(MEDIA_TYPES[extname(name)] ?? '', await readFile(path));
}

/**
 * Returns the Content-Security-Policy of the page. The page loads files from this origin only and
 * sends requests to this origin and the base addresses. Swagger UI's style sheet contains icons as
 * `data:` URLs.
 */
export function contentSecurityPolicy({ publicUrl, stagingUrl }: BaseAddresses): string {
  const origins = [publicUrl, stagingUrl].flatMap((url) => (url ? [new URL(url).origin] : []));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...new Set(origins)].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
