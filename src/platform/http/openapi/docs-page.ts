/** Returns the page. Its URLs are relative to /docs, so that a proxy can add a path prefix. */
export function docsPage(demoKey = ''): string {
  const notice = demoKey
    ? 'The demo API key of this service is filled in. Open an operation and select Execute.'
    : 'Every operation needs an API key. The operator of this service issues one with <code>pets keys issue</code>. Select Authorize and paste it.';
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Animal Adoption Store Service: interface</title>
  <link rel="icon" href="docs/favicon-32x32.png">
  <link rel="stylesheet" href="docs/swagger-ui.css">
  <link rel="stylesheet" href="docs/page.css">
  <header class="swagger-ui"><p class="wrapper">${notice}</p></header>
  <main id="swagger-ui" data-key="${demoKey}"></main>
  <script src="docs/swagger-ui-bundle.js"></script>
  <script type="module" src="docs/start-swagger-ui.js"></script>
</html>`;
}

/** Additions to the style sheet of Swagger UI. */
export const PAGE_CSS = `
  body { margin: 0 }
  header.swagger-ui .wrapper { padding-top: 20px }
  .swagger-ui .info { margin: 20px 0 }
  .swagger-ui .response-col_links { display: none }`;
