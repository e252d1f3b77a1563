// @ts-check
// The application with the features of a file, in a process that a test can kill. It sends its port.
import { createApp } from '#dist/platform/app.js';
import { SystemClock } from '#dist/platform/config/clock.js';
import { Settings } from '#dist/platform/config/settings.js';
import { locateDatabase } from '#dist/platform/database/database-location.js';
import { createLogger } from '#dist/platform/logging/logger.js';

const settings = new Settings(process.env);
const app = await createApp(
  {
    settings,
    clock: new SystemClock(),
    database: await locateDatabase(settings.database, 'service'),
    features: (await import(process.env['TEST_FEATURES'] ?? '')).default,
  },
  createLogger(settings.logging.level, { write: () => undefined }),
);
await app.listen(0, '127.0.0.1');
process.send?.(/** @type {import('node:net').AddressInfo} */ (app.getHttpServer().address()).port);
process.once('disconnect', () => process.exit(0));
