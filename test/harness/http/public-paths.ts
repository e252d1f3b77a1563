/**
 * The routes that need no API key. A new one is a decision: until it is listed here, tests fail.
 */
export const PUBLIC_PATHS: readonly string[] = [
  '/',
  '/docs',
  '/docs/',
  '/docs/favicon-32x32.png',
  '/docs/page.css',
  '/docs/start-swagger-ui.js',
  '/docs/swagger-ui-bundle.js',
  '/docs/swagger-ui.css',
  '/health/live',
  '/health/ready',
  '/openapi.json',
  '/openapi.yaml',
];

/** Whether requests for a path are not counted, so that responses have no rate limit headers. */
export const isUncounted = (path: string): boolean => path.startsWith('/health/');
