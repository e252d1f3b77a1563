import { KeyUsage } from '../../../../src/platform/access/usage/key-usage.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { Relay } from '../../../harness/database/relay.js';
import { ApiClient } from '../../../harness/http/client.js';
import { Cli } from '../../../harness/processes/command.js';
import { SECOND_MS } from '../../../harness/rate-limit/limits.js';
import { until } from '../../../harness/run/until.js';
import { startBuiltService } from '../../../harness/service/service.js';

const database = useDatabase();

const usage = (keyId: string): Promise<object[]> =>
  new Cli({ DATABASE_URL: database.url }).json('keys', 'usage', keyId);

test('kill -9 loses only the last 10 seconds at most', async () => {
  const { timeout } = Reflect.getMetadata(
    'SCHEDULE_INTERVAL_OPTIONS',
    Object.getOwnPropertyDescriptor(KeyUsage.prototype, 'save')!.value,
  );
  expect(timeout).toBeLessThanOrEqual(10 * SECOND_MS);
  const { key, keyId } = await createOwner(database);
  const service = await startBuiltService({ DATABASE_URL: database.url });
  await new ApiClient(service, key).get('/v1/nothing');
  const saved = 'SELECT FROM api_key_usage WHERE key_id = $1';
  await until(async () => (await database.query(saved, [keyId])).length > 0, 60 * SECOND_MS);
  await new ApiClient(service, key).get('/v1/nothing');
  await service.stop('SIGKILL');
  const [{ requests }] = (await usage(keyId)) as [{ requests: number }];
  expect(requests).toBeGreaterThan(0);
});

test('a shutdown while the database is away logs how many API keys lose usage', async () => {
  const relay = await Relay.open(database.url);
  const service = await startBuiltService({ DATABASE_URL: relay.url });
  const { key } = await createOwner(database);
  await new ApiClient(service, key).get('/v1/nothing');
  await relay.cut();
  await service.stop('SIGTERM');
  expect(service.logs()).toContainEqual(expect.objectContaining({ keysWithoutUsage: 1 }));
});
