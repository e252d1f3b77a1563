// @ts-check
// Serves some requests, closes the application, and exits only if nothing keeps it running.
import { get } from 'node:http';
import { AppModule } from '#dist/app.module.js';
import { createApp } from '#dist/platform/app.js';
import { Settings } from '#dist/platform/config/settings.js';
import { locateDatabase } from '#dist/platform/database/database-location.js';
import { createLogger } from '#dist/platform/logging/logger.js';

const settings = new Settings(process.env);
const database = await locateDatabase(settings.database, 'service');
const app = await createApp(
  {
    settings,
    clock: { now: () => Date.now(), monotonicMs: () => performance.now() },
    database,
    features: [AppModule],
  },
  createLogger('silent', { write: () => undefined }),
);
await app.listen(0, '127.0.0.1');
const { port } = /** @type {import('node:net').AddressInfo} */ (app.getHttpServer().address());
for (const path of ['/v1/items', '/docs', '/health/ready']) {
  await new Promise((resolve, reject) => {
    get({ port, path, agent: false }, (response) => response.resume().once('end', resolve)).once(
      'error',
      reject,
    );
  });
}
await app.close();
await database.close();
process.stdout.write(
  `${process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length}\n`,
);
