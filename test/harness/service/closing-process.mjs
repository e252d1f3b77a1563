// @ts-check
// Serves some requests, closes the application, and exits only if nothing keeps it running.
import { get } from 'node:http';
import { createApp } from '#dist/app.js';
import { Settings } from '#dist/config/settings.js';
import { locateDatabase } from '#dist/database/database-location.js';
import { createLogger } from '#dist/logging/logger.js';

const settings = new Settings(process.env);
const database = await locateDatabase(settings.database, 'service');
const app = await createApp(
  { settings, clock: { now: () => Date.now() }, database },
  createLogger('silent', { write: () => undefined }),
);
await app.listen(0, '127.0.0.1');
const { port } = /** @type {import('node:net').AddressInfo} */ (app.getHttpServer().address());
for (const path of ['/v1/pets', '/docs', '/health/ready']) {
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
