import { featureFile, useStore } from '../harness/http/store.js';
import { startService } from '../harness/service/service.js';

describe('a route that an earlier one with a parameter also matches', () => {
  const store = useStore({ features: 'routes-of-pets' });

  test.each([
    ['/v1/pets/mine', 200],
    ['/v1/pets/1', 404],
  ])('GET %s › %i of the more specific route', async (path, status) => {
    expect((await store.api.get(path)).status).toBe(status);
  });
});

test('the start fails for a method and a path that two handlers have', async () => {
  const routes = featureFile('routes-of-pets');
  const starting = startService({ features: [routes, `${routes}?again`] });
  await expect(starting).rejects.toThrow(
    'Duplicate route: GET /v1/pets/mine is registered by both EmptyController#mine',
  );
});
