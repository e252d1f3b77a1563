import { execFileSync, spawnSync } from 'node:child_process';
import { ApiClient, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

const hasFaketime = spawnSync('faketime', ['--version']).status === 0;
if (!hasFaketime)
  console.warn(
    'To test the removal by the system clock, install faketime (apt-get install faketime).',
  );

const deprecationHeaders = ({ url }: BuiltService): object => ({
  deprecation: '@1795132800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: `<${url}/v1/pets>; rel="successor-version"`,
});

/** Starts the built service with a clock that starts at the moment. The monotonic clock is real. */
function startAt(database: TestDatabase, moment: string): Promise<BuiltService> {
  return startBuiltService({
    DATABASE_URL: database.url,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    ...fakedBy('faketime', moment),
  });
}

/** Returns the variables that faketime sets. A service that faketime runs would not get signals. */
function fakedBy(faketime: string, moment: string): Record<string, string> {
  const env = { ...process.env, TZ: 'UTC' };
  const printed = execFileSync(faketime, [moment, 'env'], { env, encoding: 'utf8' });
  const variables = printed.split('\n').filter((line) => /^(?:LD_PRELOAD|FAKETIME)=/.test(line));
  return Object.fromEntries(variables.map((line) => line.split('=', 2) as [string, string]));
}

(hasFaketime ? describe : describe.skip)(
  'the removal of GET /v1/pets/{petId}, by the system clock',
  () => {
    let database: TestDatabase;
    let key: string;
    let petPath: string;

    beforeAll(async () => {
      database = await createDatabase();
      ({ key } = await createOwner(database));
      petPath = `/v1/pets/${(await createPets(database, 1))[0]}`;
    });
    afterAll(() => database.close());

    test('before 5 December 2030: 200 with the deprecation headers, and in the interface description', async () => {
      const service = await startAt(database, '2030-12-04 23:00:00');
      const response = await new ApiClient(service, key).get(petPath);
      expect(response.status).toBe(200);
      expect(response.headers).toMatchObject(deprecationHeaders(service));
      const description = (await send(service, '/openapi.json')).json;
      expect(description.paths['/pets/{petId}'].get).toMatchObject({
        operationId: 'getPet',
        deprecated: true,
      });
      expect(await service.stop()).toBe(0);
    });

    test('from then on: 410 for GET and HEAD, 405 for other methods, and not in the interface description', async () => {
      const service = await startAt(database, '2030-12-05 00:00:00');
      const client = new ApiClient(service, key);
      const response = await client.get(petPath);
      expect(expectError(response, 410, 'endpoint_removed')).toContain('GET /v1/pets');
      expect(response.headers).toMatchObject(deprecationHeaders(service));
      expect((await client.get('/v1/pets/not-a-number')).status).toBe(410);
      expect((await client.send(petPath, { method: 'HEAD' })).status).toBe(410);
      expectError(await client.send(petPath, { method: 'PUT' }), 405, 'method_not_allowed');
      expectError(await send(service, petPath), 401, 'missing_api_key');
      expect((await client.get('/v1/pets')).status).toBe(200);
      const description = (await send(service, '/openapi.json')).json;
      expect(Object.keys(description.paths)).toEqual(['/pets']);
      expect(await service.stop()).toBe(0);
    });
  },
);
