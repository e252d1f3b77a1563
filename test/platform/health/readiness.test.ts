import { Injectable, Logger, Module } from '@nestjs/common';
import { Readiness } from '#platform';
import { ServiceMetrics } from '../../../src/platform/metrics/service-metrics.js';
import { useDatabase } from '../../harness/database/database.js';
import { startTestingApp } from '../../harness/service/testing-app.js';

const never = new Promise(() => undefined);
/** What the checks of the components return. */
let search: () => unknown = () => 'pong';
let mail: () => unknown = () => true;
let checks = 0;

@Injectable()
class Components {
  constructor(readonly readiness: Readiness) {
    readiness.add('search', { required: true, limitMs: 50, check: () => ++checks && search() });
    readiness.add('mail', { limitMs: 50, check: () => mail() });
  }
}

@Module({ providers: [Components] })
class ComponentsModule {}

const database = useDatabase();
let started: Awaited<ReturnType<typeof startTestingApp>>;
beforeAll(async () => {
  started = await startTestingApp({ database, features: [ComponentsModule] });
});

async function ready() {
  const response = await fetch(`${started.url}/health/ready`);
  return { status: response.status, body: (await response.json()) as { checks: object } };
}

const fails = () => Promise.reject(new Error('refused'));
const throws = () => {
  throw new Error('refused');
};
const up = () => Promise.resolve();

test.each<[string, () => unknown, () => unknown, number, string, states: [string, string]]>([
  ['all components are up', () => 'pong', () => true, 200, 'ok', ['up', 'up']],
  ['one that is not required hangs', up, () => never, 200, 'degraded', ['up', 'down']],
  ['one that is not required fails', up, fails, 200, 'degraded', ['up', 'down']],
  ['one that is not required throws', up, throws, 200, 'degraded', ['up', 'down']],
  ['one that is required hangs', () => never, up, 503, 'unavailable', ['down', 'up']],
  ['one that is required fails', fails, up, 503, 'unavailable', ['down', 'up']],
  ['one that is required returns false', () => false, fails, 503, 'unavailable', ['down', 'down']],
  ['one is read-only', () => 'read-only', up, 200, 'degraded', ['read-only', 'up']],
])('GET /health/ready of a feature › %s', async (_title, first, second, code, status, states) => {
  search = first;
  mail = second;
  const expected = { search: states[0], mail: states[1], database: 'up', shutdown: 'no' };
  const { status: sent, body } = await ready();
  expect(sent).toBe(code);
  expect(body).toMatchObject({ status, checks: expected });
  const metrics = await started.app.get(ServiceMetrics).text();
  const isUp = (name: string) =>
    `component_up{component="${name}"} ${+(states[+(name === 'mail')] !== 'down')}`;
  for (const name of ['search', 'mail']) expect(metrics).toContain(isUp(name));
  expect(metrics).toContain('component_up{component="database_writes"} 1');
});

test('each change of a component is logged, with the cause', async () => {
  const { readiness } = started.app.get(Components, { strict: false });
  search = up;
  mail = up;
  await readiness.report();
  const lines: unknown[] = [];
  jest.spyOn(Logger.prototype, 'log').mockImplementation((line: unknown) => lines.push(line));
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => lines.push(line));
  for (const check of [fails, fails, () => never, up]) {
    mail = check;
    await readiness.report();
  }
  const line = { msg: 'component changed', component: 'mail' };
  expect(lines).toEqual([
    { ...line, state: 'down', cause: 'refused' },
    { ...line, state: 'up', cause: undefined },
  ]);
  jest.restoreAllMocks();
});

test('GET /health/ready › any number of probes share one check, and the next one checks again', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { readiness } = started.app.get(Components, { strict: false });
  search = () => held;
  mail = up;
  checks = 0;
  const reports = Array.from({ length: 20 }, () => readiness.report());
  await Promise.resolve();
  release();
  expect(new Set((await Promise.all(reports)).map(({ status }) => status)).size).toBe(1);
  expect(checks).toBe(1);
  await readiness.report();
  expect(checks).toBe(2);
});

test('a name of a component that is taken is rejected', () => {
  const { readiness } = started.app.get(Components, { strict: false });
  for (const name of ['database', 'shutdown', 'search']) {
    expect(() => readiness.add(name, { check: up })).toThrow(`${name} is taken`);
  }
});
