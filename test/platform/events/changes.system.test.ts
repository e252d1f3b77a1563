import features from '../../harness/features/changes.js';
import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { ApiClient } from '../../harness/http/client.js';
import { openRedis, describeWithAnyRedis } from '../../harness/processes/redis.js';
import { startTestingApp } from '../../harness/service/testing-app.js';

const database = useDatabase();

describeWithAnyRedis('a stream of changes with two replicas', () => {
  test('each replica sends what the handler of either has published', async () => {
    const redis = await openRedis();
    const { key } = await createOwner(database);
    const env = { REDIS_URL: redis.url };
    const start = () => startTestingApp({ database, features, env });
    const replicas = await Promise.all([start(), start()]);
    const headers = { Authorization: `Bearer ${key}` };
    const streams = await Promise.all(
      replicas.map(({ url }) => fetch(`${url}/v1/changes`, { headers })),
    );
    const texts = streams.map(async ({ body }) => {
      const decoder = new TextDecoder();
      let text = '';
      for await (const bytes of body!) {
        text += decoder.decode(bytes as Uint8Array);
        if (text.includes('data')) return text;
      }
      return text;
    });
    expect((await new ApiClient(replicas[0], key).post('/v1/changes', {})).status).toBe(201);
    for (const text of texts) expect(await text).toMatch(/data: {"toy":1}\n/);
    for (const { app } of replicas) await app.close();
    await redis.close();
  });
});
