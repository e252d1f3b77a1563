import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Settings } from '../../../src/platform/config/settings.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';

/** The highest exposure that systemd-analyze shows as OK rather than MEDIUM. */
const MAX_EXPOSURE = 2;
const PORT = '3001';

const unit = readProjectFile('deploy/systemd/animal-adoption-store@.service');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasSystemd) {
  console.warn('To test the systemd unit, install systemd (apt-get install systemd).');
}

/** Returns the values of an option of the unit. */
const values = (option: string): string[] =>
  [...unit.matchAll(new RegExp(`^${option}=(.*)$`, 'gm'))].map(([, value = '']) => value);

(hasSystemd ? describe : describe.skip)('systemd-analyze', () => {
  let folder: string;
  let file: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'pets-systemd-'));
    file = join(folder, `animal-adoption-store@${PORT}.service`);
    // It checks that the program exists, and Node.js is elsewhere on many machines.
    writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const analyze = (...args: string[]): { status: number | null; output: string } => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    return { status, output: stdout + stderr };
  };

  test('verify accepts the unit without a warning', () => {
    expect(analyze('verify', file)).toEqual({ status: 0, output: '' });
  });

  test('the service has hardly any rights', () => {
    const { output } = analyze('security', '--offline=yes', file);
    const exposure = Number(/exposure level for .*: ([\d.]+)/.exec(output)?.[1]);
    expect(exposure).toBeLessThan(MAX_EXPOSURE);
  });
});

test('the variables of the systemd unit are valid settings, and it waits for the shutdown', () => {
  const variables = values('Environment')
    .join(' ')
    .replaceAll('%i', PORT)
    .split(' ')
    .map((text) => text.split('=') as [string, string]);
  const environment = Object.fromEntries(variables.filter(([name]) => !name.endsWith('_FILE')));
  const { port, metricsPort, shutdownDelayMs, shutdownGraceMs } = new Settings(environment).server;
  expect([port, metricsPort]).toEqual([3001, 13_001]);
  const stopSeconds = Number(/^(\d+)s$/.exec(values('TimeoutStopSec')[0] ?? '')?.[1]);
  expect(stopSeconds * 1000).toBeGreaterThan(shutdownDelayMs + shutdownGraceMs);

  const secrets = variables.filter(([name]) => name.endsWith('_FILE'));
  const credentials = values('LoadCredential').map((value) => value.split(':')[0]);
  expect(secrets.map(([, path]) => path)).toEqual(credentials.map((name) => `%d/${name}`));
  expect(values('ExecStart')).toEqual(['/usr/bin/node dist/main.js']);
});
