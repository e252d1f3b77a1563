// @ts-check
// The built application with a clock that the test sets; all else is as `dist/main.js` runs it. Told
// over the process channel: { nowMs } sets the clock. Environment: TEST_NOW_MS, TEST_FEATURES (a
// module's path, whose default export is a list of Nest modules).
import { createApp } from '#dist/app.js';
import { Settings } from '#dist/config/settings.js';
import { locateDatabase } from '#dist/database/database-location.js';
import { createLogger } from '#dist/http/service-logger.js';

const settings = new Settings();
const clock = { nowMs: Number(process.env['TEST_NOW_MS']), now: () => clock.nowMs };
const features = process.env['TEST_FEATURES']
  ? (await import(process.env['TEST_FEATURES'])).default
  : [];
const database = await locateDatabase(settings, 'service');
const app = await createApp(
  { settings, clock, database, features },
  createLogger(settings.logLevel),
);
await app.listen(settings.port, settings.host);

process.on('message', (/** @type {{ nowMs: number }} */ { nowMs }) => {
  clock.nowMs = nowMs;
  process.send?.({ nowMs });
});
process.once('SIGTERM', () => {
  void app.close().then(() => process.exit(0));
});
process.once('disconnect', () => process.exit(0));
const address = /** @type {import('node:net').AddressInfo} */ (app.getHttpServer().address());
process.send?.({ port: address.port });
