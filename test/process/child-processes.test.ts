import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import config from '../../jest.config.js';

const ROOT = resolve(__dirname, '../..');

test('a process that a failed test leaves is stopped, and Jest ends', () => {
  const folder = mkdtempSync(join(tmpdir(), 'left-'));
  const pidFile = join(folder, 'pid');
  const { setupFilesAfterEnv } = config;
  const options = {
    rootDir: ROOT,
    testMatch: ['<rootDir>/test/harness/run/leaves-a-process.fixture.ts'],
    transform: { '\\.ts$': '<rootDir>/scripts/typescript-transform.mjs' },
    setupFilesAfterEnv,
  };
  try {
    // Standard error is a pipe that the process inherits: this call ends when all of them have ended.
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(ROOT, 'node_modules/jest/bin/jest.js'), '--config', JSON.stringify(options)],
      { cwd: ROOT, encoding: 'utf8', env: { ...process.env, PID_FILE: pidFile }, timeout: 55_000 },
    );
    const pid = Number(readFileSync(pidFile, 'utf8'));

    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('another number'),
    });
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);
