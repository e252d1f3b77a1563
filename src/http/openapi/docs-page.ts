import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import type { BaseAddresses } from '../../config/server-settings.js';
import { StaticContent } from './static-content.js';

/**
 * Returns the page. It fills in the API key, or says where one comes from. Its URLs are relative to
 * /docs, so that a proxy can add a path prefix.
 */
export function docsPage(demoKey?: string): StaticContent {
  const meta = demoKey === undefined ? '' : `<meta name="demo-api-key" content="${demoKey}">`;
  const notice = demoKey === undefined ? HOW_TO_GET_KEY : DEMO_KEY_IS_SET;
  return new StaticContent(
    'text/html; charset=utf-8',
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">${meta}
    <title>Animal Adoption Store Service: interface</title>
    <link rel="icon" type="image/png" sizes="32x32" href="docs/favicon-32x32.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/page.css">
  </head>
  <body>
    <noscript>This page needs JavaScript. The interface description: <a href="openapi.yaml">openapi.yaml</a>.</noscript>
    <p class="notice">${notice}</p>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script type="module" src="docs/start.js"></script>
  </body>
</html>
`,
  );
}

const HOW_TO_GET_KEY =
  'Every operation needs an API key. The operator of this service issues one with <code>pets keys issue</code>. Select Authorize and paste it.';
const DEMO_KEY_IS_SET =
  'The demo API key of this service is filled in. Open an operation and select Execute.';

/** Additions to the style sheet of Swagger UI. */
const STYLE = `
html { box-sizing: border-box; }
*, *::before, *::after { box-sizing: inherit; }
body { margin: 0; background: #fafafa; color: #3b4151; font: 14px/1.5 sans-serif; }
.notice { max-width: 1460px; margin: 0 auto; padding: 16px 20px 0; }
.swagger-ui .info { margin: 16px 0; }
.swagger-ui .info .title { margin: 0; }
.swagger-ui .scheme-container { margin: 0 0 8px; padding: 16px 0; }
.swagger-ui details { margin: 8px 0; }
.swagger-ui summary { cursor: pointer; font-weight: bold; }
.swagger-ui .opblock.opblock-deprecated { opacity: 1; }
.swagger-ui .opblock.opblock-deprecated .opblock-summary-method { background: #616161; }
.swagger-ui .opblock-summary-path, .swagger-ui .markdown code { overflow-wrap: anywhere; }
.swagger-ui .info th { padding: 12px 12px 12px 0; }
.swagger-ui .response-col_links, .swagger-ui .response-control-media-type { display: none; }
.swagger-ui .response-controls:not(:has(option + option)) { display: none; }
@media (max-width: 640px) {
  .swagger-ui table { display: block; overflow-x: auto; }
}
`;

const require = createRequire(import.meta.url);

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
};

/**
 * Returns the files that the page loads, by name under /docs/. Call it at start: the packages may be
 * reinstalled while the service runs.
 */
export function readDocsFiles(): [name: string, StaticContent][] {
  const contents: [name: string, string | Buffer][] = [
    ['page.css', STYLE],
    ['start.js', readFileSync(new URL('./browser/start-swagger-ui.js', import.meta.url))],
    ...['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'].map(
      (name): [string, Buffer] => [name, readFileSync(require.resolve(`swagger-ui-dist/${name}`))],
    ),
  ];
  return contents.map(([name, content]) => [
    name,
    new StaticContent(MEDIA_TYPES[extname(name)] ?? '', content),
  ]);
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
