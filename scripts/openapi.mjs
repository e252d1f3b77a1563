// @ts-check
// Writes openapi.yaml: what the built service sends for /openapi.yaml, on an empty embedded database.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
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
for await (const line of createInterface(service.stdout)) {
  const { address } = JSON.parse(line);
  if (address === undefined) continue;
  const text = await (await fetch(`${address}/openapi.yaml`)).text();
  // Tools that read the description from a file need an absolute address.
  writeFileSync('openapi.yaml', text.replace(/url: (\/v1|)\/?$/m, 'url: http://127.0.0.1:3000$1'));
  process.exitCode = 0;
  service.kill();
}
rmSync(dataDir, { recursive: true });
