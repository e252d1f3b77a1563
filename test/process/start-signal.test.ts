import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { useDatabase } from '../harness/database/database.js';
import { featureFile } from '../harness/http/store.js';
import { spawnBuiltService, TEAM_MAIN } from '../harness/service/service.js';

/** Well below the time after which a supervisor kills the process. */
const AT_ONCE_MS = 2_500;

const database = useDatabase();

function spawnWithFeature(waitsIn: string) {
  const addFeatures = join(__dirname, '../harness/service/add-features.mjs');
  const env = {
    DATABASE_URL: database.url,
    TEST_FEATURES: pathToFileURL(featureFile('waiting')).href,
    TEST_WAITS_IN: waitsIn,
  };
  const options = ['--import', pathToFileURL(addFeatures).href];
  return spawnBuiltService(env, TEAM_MAIN, [process.execPath, ...options]);
}

test.concurrent.each([
  ['onModuleInit', 'SIGTERM', 143],
  ['useFactory', 'SIGINT', 130],
] as const)(
  'a feature whose %s never ends: %s ends the start with %i',
  async (waitsIn, signal, code) => {
    const service = spawnWithFeature(waitsIn);
    await service.waitForLog(({ msg }) => msg === 'waiting');
    const signalledAt = performance.now();
    expect(await service.stop(signal)).toBe(code);
    expect(performance.now() - signalledAt).toBeLessThan(AT_ONCE_MS);
    expect(service.logs().at(-1)).toMatchObject({ msg: 'stopped', signal });
  },
);
