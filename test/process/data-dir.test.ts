import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inheritedEnvironment } from '../harness/service/service.js';

/** Ends an endless loop, which was the defect. A start takes far less, even on a busy machine. */
const LOOP_LIMIT_MS = 20_000;

const ofLinux = process.platform === 'linux' ? describe : describe.skip;

ofLinux('a DATA_DIR that cannot be created (Linux only)', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'data-dir-'));
    writeFileSync(join(folder, 'file'), '');
    symlinkSync('nowhere/at/all', join(folder, 'link'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Starts `dist/main.js`. The code is null if it has to be killed. */
  async function failToStart(dataDir: string): Promise<{ code: number | null; stderr: string }> {
    const main = join(__dirname, '../../dist/main.js');
    const child = spawn(process.execPath, [main], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: LOOP_LIMIT_MS,
      killSignal: 'SIGKILL',
      env: { ...inheritedEnvironment(), PORT: '0', METRICS_PORT: '', DATA_DIR: dataDir },
    });
    const [stderr, [code]] = await Promise.all([
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { code, stderr };
  }

  test.each([
    '/proc/x',
    '/proc/x/y/z',
    '/proc/self/x',
    '/proc',
    '/sys/x',
    '/dev/null/x',
    '/dev/null',
    'file',
    'file/x',
    'link',
    'link/x',
  ])('ends the start with exit code 1 and one line: %s', async (name) => {
    const dataDir = name.startsWith('/') ? name : join(folder, name);
    const { code, stderr } = await failToStart(dataDir);
    expect(stderr).toMatch(/^[^\n]*choose another DATA_DIR, or set DATABASE_URL=[^\n]*\n$/);
    expect(stderr).toContain(dataDir);
    expect(code).toBe(1);
    expect(readdirSync(folder).sort()).toEqual(['file', 'link']);
  });
});
