import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { send } from '../harness/client.js';
import { startBuiltService } from '../harness/service.js';

/** Generous: several tests run at a time, on slow machines too. */
const FIRST_START_MS = 20_000;
const LATER_START_MS = 10_000;

const dataDir = mkdtempSync(join(tmpdir(), 'pets-start-'));
afterAll(() => rmSync(dataDir, { recursive: true }));

test('with nothing set but a folder the service starts and stops, again and again', async () => {
  for (const limitMs of [FIRST_START_MS, LATER_START_MS, LATER_START_MS]) {
    const startedAt = performance.now();
    const service = await startBuiltService({ DATA_DIR: dataDir });
    expect(performance.now() - startedAt).toBeLessThan(limitMs);
    expect((await send(service, '/health/ready')).status).toBe(200);
    expect(await service.stop()).toBe(0);
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false);
  }
});
