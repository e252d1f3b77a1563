import { join } from 'node:path';
import { createOwner } from '../harness/database/factories.js';
import {
  accessDefects,
  ban,
  type Caller,
  callersOf,
  type Route,
  routesOf,
} from '../harness/http/access-matrix.js';
import { startService, type TestService } from '../harness/service/service.js';

describe.each([
  ['the service and features that need an API key', 'routes.mjs', []],
  [
    'a feature that opens a route which is not listed as public',
    'open-route.mjs',
    ['GET /v1/open', 'HEAD /v1/open'],
  ],
])('%s', (_title, feature, open) => {
  let service: TestService;
  let callers: Caller[];
  let routes: Route[];

  beforeAll(async () => {
    service = await startService({
      features: join(__dirname, '../harness/features', feature),
      env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000', BAN_AFTER_REJECTIONS: '1' },
    });
    callers = await callersOf(service);
    const { key } = await createOwner(service.database);
    routes = await routesOf(service, key);
    for (const caller of callers.filter(({ code }) => code === 'api_key_banned')) {
      await ban(service, caller);
    }
  });
  afterAll(() => service.close());

  test('the matrix contains every route, including features and the catch-all', () => {
    expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining([
        'GET /v1/pets',
        'HEAD /v1/pets',
        'POST /v1/pets',
        'OPTIONS /v1/pets',
        'GET /v1/pets/1',
        'GET /v1/failing/1',
        'DELETE /nothing',
        'GET /health/live',
        'GET /health/ready',
        ...open,
      ]),
    );
  });

  test('every route responds to each caller as the rules require', async () => {
    const defects = await accessDefects(service, routes, callers);
    const unauthenticated = callers.filter(
      ({ code }) => code !== undefined && code !== 'api_key_banned',
    );
    const cells = open.flatMap((route) =>
      unauthenticated.map(({ name }) => `${route} with ${name}`),
    );
    expect(new Set(defects.map((defect) => defect.split(':')[0]))).toEqual(new Set(cells));
  });
});
