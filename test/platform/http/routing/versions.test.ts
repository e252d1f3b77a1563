import { createKey } from '../../../harness/database/factories.js';
import { ApiClient } from '../../../harness/http/client.js';
import { Description } from '../../../harness/http/description.js';
import { expectError } from '../../../harness/http/error-response.js';
import { featureFile, useStore } from '../../../harness/http/store.js';
import { startService } from '../../../harness/service/service.js';

const store = useStore({ features: 'versions' });
const PATHS = 'Paths are case-sensitive, begin with /v1/ or /v2/ and have no trailing slash.';

/** Returns the operations without parameters in the path: their routes, ids and addresses. */
async function described(): Promise<[route: string, id: string, address: string][]> {
  const description = await Description.of(store.service);
  const { servers, paths } = description.document;
  // Many clients look at no other servers.
  expect(JSON.stringify(paths)).not.toContain('"servers"');
  return [...description.operations()]
    .filter(([route]) => route.startsWith('GET ') && !route.includes('{'))
    .map(([route, { operationId }]) => {
      const path = route.slice('GET '.length);
      return [route, operationId, servers[0].url.replace(/\/$/, '') + path];
    });
}

test('GET /openapi.json › with routes of two versions, each operation has an id of its own', async () => {
  expect((await described()).map(([route, id]) => [route, id])).toEqual(
    expect.arrayContaining([
      ['GET /v1/toys', 'listToys'],
      ['GET /v2/toys', 'listToysV2'],
      ['GET /v1/toys/best', 'ToysController_best_v1'],
      ['GET /v2/toys/best', 'ToysController_best_v2'],
      ['GET /v1/sales', 'listSales'],
      ['GET /v2/sales', 'listSalesV2'],
      ['GET /v2/sales/sum', 'sumSalesV2'],
      ['GET /v2s', 'getNeutral'],
    ]),
  );
});

test('an operation without a summary has no empty one', async () => {
  const description = await Description.of(store.service);
  expect(description.operation('GET /v2/sales/sum').summary).toBe('Sum sales');
  expect(description.operation('GET /v2s')).not.toHaveProperty('summary');
});

test('every operation has the described address', async () => {
  for (const [route, id, address] of await described()) {
    const { status, json } = await store.api.get(address);
    expect([route, status]).toEqual([route, 200]);
    if (id.startsWith('listSales')) expect(json).toEqual({ of: id.endsWith('V2') ? '2' : '1' });
  }
});

test('404 names the versions, also for a read-only API key and without documentation', async () => {
  const { key } = await createKey(store.database, store.owner.id, { access: 'read' });
  const env = { DOCS: 'false' };
  const features = [featureFile('versions')];
  const silent = await startService({ database: store.database, env, features });
  const post = { method: 'POST' };
  for (const response of [
    await store.api.get('/v3/toys'),
    await new ApiClient(store.service, key).send('/v3/toys', post),
    await new ApiClient(silent, store.owner.key).get('/docs'),
  ])
    expect(expectError(response, 404, 'route_not_found')).toContain(PATHS);
  const { responses } = (await Description.of(store.service)).document.components;
  expect(responses.NoSuchOperation.description).toContain(PATHS);
  await silent.close();
});

test('the start names two routes with the same operationId', async () => {
  const features = [featureFile('duplicate-operations')];
  await expect(startService({ database: store.database, features })).rejects.toThrow(
    'StartError: GET /v1/lost and GET /v1/found/things: both have the operationId listThings\n',
  );
});
