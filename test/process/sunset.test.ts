import { execFileSync, spawnSync } from 'node:child_process';
import { ApiClient, send } from '../harness/http/client.js';
import { createDatabase } from '../harness/database/database.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startBuiltService } from '../harness/service/service.js';

const hasFaketime = spawnSync('faketime', ['--version']).status === 0;
if (!hasFaketime)
  console.warn(
    'To test the removal by the system clock, install faketime (apt-get install faketime).',
  );

/** Returns the variables that faketime sets. A service that faketime runs would not get signals. */
function clockAt(moment: string): Record<string, string> {
  const env = { ...process.env, TZ: 'UTC' };
  const printed = execFileSync('faketime', [moment, 'env'], { env, encoding: 'utf8' });
  const lines = printed.split('\n').filter((line) => /^(?:LD_PRELOAD|FAKETIME)=/.test(line));
  return Object.fromEntries(lines.map((line) => line.split('=', 2) as [string, string]));
}

(hasFaketime ? test : test.skip)(
  'from 5 December 2030 by the system clock, GET /v1/pets/{petId} › 410, and it is not in the interface description',
  async () => {
    const database = await createDatabase();
    const { key } = await createOwner(database);
    const petPath = `/v1/pets/${(await createPets(database, 1))[0]}`;
    const service = await startBuiltService({
      DATABASE_URL: database.url,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      ...clockAt('2030-12-05 00:00:00'),
    });
    const client = new ApiClient(service, key);
    const response = await client.get(petPath);
    expect(expectError(response, 410, 'endpoint_removed')).toContain('GET /v1/pets');
    expect(response.headers).toMatchObject({
      deprecation: '@1795132800',
      sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
      link: `<${service.url}/v1/pets>; rel="successor-version"`,
    });
    expect((await client.get('/v1/pets/not-a-number')).status).toBe(410);
    expect((await client.send(petPath, { method: 'HEAD' })).status).toBe(410);
    expectError(await client.send(petPath, { method: 'PUT' }), 405, 'method_not_allowed');
    expectError(await send(service, petPath), 401, 'missing_api_key');
    expect((await client.get('/v1/pets')).status).toBe(200);
    const description = (await send(service, '/openapi.json')).json;
    expect(Object.keys(description.paths)).toEqual(['/pets']);
    expect(await service.stop()).toBe(0);
    await database.close();
  },
);
