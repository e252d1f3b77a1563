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

/** A feature opens these, and they are not listed as public. */
const OPEN = ['GET /v1/open', 'HEAD /v1/open'];

let service: TestService;
let callers: Caller[];
let routes: Route[];

beforeAll(async () => {
  service = await startService({
    features: join(__dirname, '../harness/features/open-route.mjs'),
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
      ...['GET /v1/pets', 'HEAD /v1/pets', 'POST /v1/pets', 'OPTIONS /v1/pets', 'GET /v1/pets/1'],
      ...['GET /v1/failing/1', 'DELETE /nothing', 'GET /health/live', 'GET /health/ready'],
      ...OPEN,
    ]),
  );
});

test('every route responds to each caller as the rules require, except those that a feature opens', async () => {
  const defects = await accessDefects(service, routes, callers);
  const rejected = callers.filter(({ code }) => code !== undefined && code !== 'api_key_banned');
  const cells = OPEN.flatMap((route) => rejected.map(({ name }) => `${route} with ${name}`));
  expect(new Set(defects.map((defect) => defect.split(':')[0]))).toEqual(new Set(cells));
});
