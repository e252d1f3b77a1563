import { featureFile, useStore } from '../harness/http/store.js';
import { startService } from '../harness/service/service.js';

describe('a route that an earlier one with a parameter also matches', () => {
  const store = useStore({ features: 'route-order' });

  test.each([
    ['/v1/pets/mine', []],
    ['/v1/toys/all', {}],
    ['/v1/pets/mine/a-b', ['a', 'b']],
    ['/v1/pets/mine/a', ['a', null]],
    ['/v1/pets/mine/a/b', [null, ['a', 'b']]],
  ])('GET %s › 200 of the more specific route', async (path, result) => {
    const { status, json } = await store.api.get(path);
    expect([status, json]).toEqual([200, result]);
  });

  test('GET /v1/pets/{petId} and /v1/unknown › 404 as before', async () => {
    const codes = ['/v1/pets/1', '/v1/unknown'].map(
      async (path) => (await store.api.get(path)).json,
    );
    expect((await Promise.all(codes)).map(({ code }) => code as unknown)).toEqual([
      'pet_not_found',
      'route_not_found',
    ]);
  });
});

test('the start fails for a route that no request reaches, and for a parameter that no path has', async () => {
  const starting = startService({ features: featureFile('unreachable-routes') });
  const error = await starting.then(() => '', String);
  const [lines = ''] = /(?<=StartError: )[^]*?(?=\n\s+at )/.exec(error) ?? [];

  expect(lines.split('\n')).toEqual([
    "NextController.skip: @Param('idd') is undefined, because the path is /v1/next/:id. Use the name of one of its parameters.",
    'EmptyController.list: GET /v1/pets is never reached, because PetsController.listPets serves GET /v1/pets. Change the path of one of them.',
    'EmptyController.find: GET /v1/pets/:id is never reached, because PetsController.getPet serves GET /v1/pets/:petId. Change the path of one of them.',
    'EmptyController.find: GET /others/:id is never reached, because EmptyController.all serves GET /others/:id. Change the path of one of them.',
  ]);
});
