import { COMMANDS } from '../../src/commands.js';
import { PLANS } from '../../src/plans.js';
import {
  MAX_BODY_BYTES,
  MAX_BODY_VALUES,
  MAX_HEAD_BYTES,
  MAX_HEADERS,
} from '../../src/platform/config/bounds.js';
import type { PlanTable } from '../../src/platform/config/plan-limits.js';
import { Settings } from '../../src/platform/config/settings.js';
import { ServiceMetrics } from '../../src/platform/metrics/service-metrics.js';
import { PRODUCT } from '../../src/product.js';
import { useStore } from '../harness/http/store.js';
import { markdownFiles } from '../harness/pages/links.js';
import {
  codesIn,
  commandsIn,
  documentedCommands,
  rowsOf,
  sorted,
} from '../harness/pages/tables.js';
import { Cli } from '../harness/processes/command.js';
import { readProjectFile } from '../harness/stack/compose-file.js';

// The tables and lists of the pages have what the code has, with the same numbers.

const store = useStore({ env: { REDIS_URL: 'redis://127.0.0.1:1' } });
const labels = (metrics: string, series: string, label: string): string[] =>
  sorted(
    Array.from(
      metrics.matchAll(RegExp(`^${series}\\{.*?${label}="(\\w+)"`, 'gm')),
      ([, value = '']) => value,
    ),
  );

/** Checks that a setting has a value without being set. */
function expectDefault(name: string, value: string): void {
  const settings = (env: Record<string, string>) =>
    JSON.stringify(new Settings(PRODUCT, { REDIS_URL: 'redis://127.0.0.1', ...env }));
  expect([name, value, settings({ [name]: value })]).toEqual([name, value, settings({})]);
}

test('.env.example has the default of each setting whose value is a number or true', () => {
  const lines = readProjectFile('.env.example').matchAll(/^# ([A-Z_]+)=(true|[\d.]+)$/gm);
  const compose = readProjectFile('docker-compose.yml');
  const own = [...lines].filter(([, name]) => !compose.includes(`\${${name}:`));
  expect(own.length).toBeGreaterThan(25);
  for (const [, name = '', value = ''] of own) expectDefault(name, value);
});

test('a number beside a setting, as in 10 MiB (`MAX_UPLOAD_MEBIBYTES`), is its default on every page', () => {
  const NUMBER = String.raw`(?<number>\d[\d,.]*\d|\d)(?<unit> MiB| s)?`;
  const before = RegExp(`${NUMBER} \\(\`(?<name>[A-Z]+_[A-Z_]+)\``, 'g');
  const after = RegExp(`\`(?<name>[A-Z]+_[A-Z_]+)\` \\(${NUMBER}\\)`, 'g');
  const texts = markdownFiles()
    .filter((page) => page !== 'CHANGELOG.md' && !page.includes('decisions'))
    .map(readProjectFile);
  const found = [before, after].flatMap((pattern) =>
    texts.flatMap((text) => [...text.matchAll(pattern)]),
  );
  expect(found.length).toBeGreaterThan(12);
  for (const { groups: { number = '', unit, name = '' } = {} } of found) {
    const factor = unit === ' MiB' && name.endsWith('_BYTES') ? 1_048_576 : 1;
    expectDefault(name, String(Number(number.replaceAll(',', '')) * factor));
  }
});

describe('docs/settings.md, Bounds', () => {
  const rows = rowsOf('docs/settings.md', 'resource', '`bound`');
  const boundOf = (resource: string) =>
    rows.find((row) => row['resource']?.startsWith(resource))?.['bound (setting)'] ?? '';
  const numbersIn = (text: string) =>
    Array.from(text.matchAll(/\d[\d,]*/g), ([number]) => Number(number.replaceAll(',', '')));

  test('each label of the metric has its row', async () => {
    const bounds = labels(
      await store.service.metrics(),
      `${PRODUCT.metricsPrefix}shed_total`,
      'bound',
    );
    expect(codesIn(rows.map((row) => row['`bound`']).join())).toEqual(bounds);
    const inRunbook = rowsOf('docs/runbook.md', '`bound`', 'what to do').map(
      (row) => row['`bound`'],
    );
    // The alert leaves it out.
    expect(sorted([...codesIn(inRunbook.join()), 'stalled'])).toEqual(bounds);
  });

  test('the bounds of a message are those of the code', () => {
    expect(numbersIn(boundOf('a JSON body'))).toEqual([MAX_BODY_BYTES, 256, 32, MAX_BODY_VALUES]);
    expect(numbersIn(boundOf('the head'))).toEqual([MAX_HEAD_BYTES, MAX_HEADERS]);
  });
});

test('docs/monitoring.md has each metric of a replica', async () => {
  const rows = rowsOf('docs/monitoring.md', 'metric', 'meaning');
  await store.api.get('/v1/items');
  // The harness does not start a process, which has metrics of its own.
  const process = new ServiceMetrics(new Settings(PRODUCT, {}));
  process.observeProcess(() => 0, { version: '', commit: '', commitDate: '' });
  const text = (await store.service.metrics()) + (await process.text());
  const names = text.matchAll(/^# TYPE (\w+)/gm);
  const metrics = Array.from(names, ([, name = '']) =>
    name.replace(/^(nodejs|process)_\w+/, '$1_…'),
  );
  expect(codesIn(rows.map((row) => row['metric']).join())).toEqual(sorted(metrics));
});

test('docs/commands.md has each command of the platform', async () => {
  const cli = new Cli();
  const groups = commandsIn((await cli.run('--help')).stdout);
  const own = groups.filter((group) => documentedCommands(group).length > 0);
  expect(own).toEqual(['audit', 'db', 'keys', 'owners']);
  for (const group of own) {
    const commands = commandsIn((await cli.run(group, '--help')).stdout);
    expect([group, ...documentedCommands(group)]).toEqual([group, ...commands]);
  }
  const documented = readProjectFile('docs/commands.md').matchAll(/^pets ([\w-]+)/gm);
  const others = Array.from(documented, ([, group = '']) => group).filter(
    (group) => !own.includes(group),
  );
  expect(sorted(others)).toEqual(Object.keys(COMMANDS).sort());
});

test('docs/clients.md has the copies of the store that each plan allows in 24 hours', () => {
  const rows = rowsOf('docs/clients.md', 'plan', '1,000 animals');
  const limited = Object.entries<unknown>(PLANS).filter(([, limits]) => limits !== null);
  expect(rows.map(({ plan }) => plan?.toLowerCase())).toEqual(limited.map(([plan]) => plan));
  for (const { plan = '', ...cells } of rows) {
    const { perDay } = (PLANS as PlanTable)[plan.toLowerCase()] ?? {};
    for (const [animals, cell] of Object.entries(cells)) {
      const requests = Number.parseInt(animals.replaceAll(',', ''), 10) / 100;
      const copies = Math.floor((perDay ?? NaN) / requests).toLocaleString('en-US');
      expect([plan, animals, cell]).toEqual([
        plan,
        animals,
        expect.stringContaining(`(${copies})`),
      ]);
    }
  }
});

test('docs/sizing.md and docs/settings.md have the memory of a replica in deploy/', () => {
  const unit = readProjectFile('deploy/systemd/animal-adoption-store@.service');
  const [, memory = ''] = /^MemoryMax=(\d+)M$/m.exec(unit) ?? [];
  expect(readProjectFile('docker-compose.yml')).toContain(`memory: ${memory}M,`);
  expect(readProjectFile('deploy/kubernetes/deployment.yaml')).toContain(`memory: ${memory}Mi }`);
  expect(readProjectFile('docs/sizing.md')).toContain(`limit a replica to ${memory} MiB`);
  expect(readProjectFile('docs/settings.md')).toContain(`fits a container of ${memory} MiB`);
});
