import { Module, type Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { createApp } from '../../../src/platform/process/app.js';
import { SYSTEM_CLOCK } from '../../../src/platform/config/clock.js';
import type { PlanTable } from '../../../src/platform/config/plan-limits.js';
import { Settings } from '../../../src/platform/config/settings.js';
import { locateDatabase } from '../../../src/platform/database/database-location.js';
import { createLogger } from '../../../src/platform/logging/logger.js';
import { terminalLine } from '../../../src/platform/logging/terminal-line.js';
import { PlatformModule } from '../../../src/platform/platform.module.js';
import { closeBeforeDatabases, type TestDatabase } from '../database/database.js';
import { PRODUCT } from '../../../src/product.js';
import { PLANS } from '../features/store/plans.js';
import { withEnvironment } from '../programs/environment.js';
import { stopSchedules } from '../programs/scheduled-jobs.js';
import { PATIENT } from './service.js';

interface TestingOptions {
  database: TestDatabase;
  /** The modules of the features. */
  features: Type[];
  /** Settings of the platform and of the features. During the start, `process.env` has them too. */
  env?: Record<string, string>;
  /** Those of the tests by default. */
  plans?: PlanTable;
  schemaReady?: Promise<unknown>;
  /** `(module) => module.overrideProvider(Mailer).useValue(mailer)` */
  override?: (module: TestingModuleBuilder) => TestingModuleBuilder;
}

/**
 * Starts the service in the process of the test, as NestJS documents it for tests: providers can be
 * replaced, and `app.get()` returns them. Returns it with the address that it listens on. The cause of a
 * 500 is printed.
 */
export async function startTestingApp({
  database,
  features,
  env = {},
  plans = PLANS,
  schemaReady = Promise.resolve(),
  override = (module) => module,
}: TestingOptions): Promise<{ app: NestExpressApplication; url: string }> {
  const settings = new Settings(PRODUCT, { ...PATIENT, DATABASE_URL: database.url, ...env });
  const { keyPrefix } = settings.logging;
  const print = (line: string) => process.stderr.write(terminalLine(line));
  const logger = createLogger({ level: 'error', keyPrefix }, { write: print });
  @Module({ imports: [PlatformModule.forRoot({ product: PRODUCT, plans }), ...features] })
  class Root {}
  const location = await locateDatabase(settings.database, 'service');
  const objects = { settings, clock: SYSTEM_CLOCK, logger, database: location, schemaReady };
  const app = await withEnvironment({ ...process.env, ...env }, () =>
    createApp(Root, objects, async (root, adapter, options) => {
      const testing = override(Test.createTestingModule({ imports: [root] }));
      return (await testing.compile()).createNestApplication(adapter, options);
    }),
  );
  stopSchedules(app);
  closeBeforeDatabases(async () => {
    // The test may have closed it. A second time, its providers would close what is closed.
    if (app.getHttpServer().listening) await app.close();
  });
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}
