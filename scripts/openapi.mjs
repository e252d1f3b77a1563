// @ts-check
// Writes openapi.yaml: what the built service sends for /openapi.yaml, on an empty embedded database.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { ensureBuild } from './build.mjs';

ensureBuild();

const dataDir = mkdtempSync(join(tmpdir(), 'openapi-'));
const defaults = { DATABASE_URL: '', PUBLIC_URL: '', STAGING_URL: '', DOCS: '', LOG_LEVEL: '' };
const env = { ...process.env, ...defaults, DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '' };
const service = spawn(process.execPath, ['--enable-source-maps', 'dist/main.js'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});

// If the service does not start, it has printed the reason.
process.exitCode = 1;
try {
  for await (const line of createInterface(service.stdout)) {
    const { address } = JSON.parse(line);
    if (address === undefined) continue;
    // Unlike fetch, it never asks a proxy of the environment.
    const [response] = await once(get(`${address}/openapi.yaml`, { agent: false }), 'response');
    // Tools that read the description from a file need an absolute address.
    const url = 'url: http://127.0.0.1:3000$1';
    writeFileSync('openapi.yaml', (await text(response)).replace(/url: (\/v1|)\/?$/m, url));
    process.exitCode = 0;
    service.kill();
  }
} finally {
  service.kill();
  if (service.exitCode === null && service.signalCode === null) await once(service, 'exit');
  rmSync(dataDir, { recursive: true, maxRetries: 3 });
}
