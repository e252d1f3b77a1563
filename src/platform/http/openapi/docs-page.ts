import type { BaseAddresses } from '../../config/server-settings.js';

/**
 * Returns the page. It fills in the API key, or says where one comes from. Its URLs are relative to
 * /docs, so that a proxy can add a path prefix.
 */
export function docsPage(demoKey?: string): string {
  const meta = demoKey ? `<meta name="demo-api-key" content="${demoKey}">` : '';
  const notice = demoKey
    ? 'The demo API key of this service is filled in. Open an operation and select Execute.'
    : 'Every operation needs an API key. The operator of this service issues one with <code>pets keys issue</code>. Select Authorize and paste it.';
  return `<!doctype html>
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
    <header class="swagger-ui"><p class="notice wrapper">${notice}</p></header>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script type="module" src="docs/start-swagger-ui.js"></script>
  </body>
</html>
`;
}

/**
 * Returns the Content-Security-Policy of the page. It loads files from this origin only and sends
 * requests to this origin and the base addresses. Swagger UI's style sheet has `data:` icons.
 */
export function contentSecurityPolicy({ publicUrl, stagingUrl }: BaseAddresses): string {
  const origins = [publicUrl, stagingUrl].flatMap((url) => (url ? [new URL(url).origin] : []));
  const targets = ["'self'", ...new Set(origins)].join(' ');
  return `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src ${targets}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}
