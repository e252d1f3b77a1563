import { useStore } from '../../harness/http/store.js';
import type { LogLine } from '../../harness/service/output.js';

const store = useStore({ features: 'components' });

/** Sets what the checks of the components do. */
async function choose(search: string, mail: string): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ search, mail });
  const { status } = await store.api.send('/v1/components', { method: 'PUT', headers, body });
  expect(status).toBe(204);
}

const report = () => store.anonymous.get('/health/ready');

test.each<[string, string, string, number, string, states: [string, string]]>([
  ['all components are up', 'up', 'true', 200, 'ok', ['up', 'up']],
  ['one that is not required hangs', 'nothing', 'hangs', 200, 'degraded', ['up', 'down']],
  ['one that is not required fails', 'nothing', 'fails', 200, 'degraded', ['up', 'down']],
  ['one that is not required throws', 'nothing', 'throws', 200, 'degraded', ['up', 'down']],
  ['one that is required hangs', 'hangs', 'nothing', 503, 'unavailable', ['down', 'up']],
  ['one that is required fails', 'fails', 'nothing', 503, 'unavailable', ['down', 'up']],
  ['one that is required returns false', 'false', 'fails', 503, 'unavailable', ['down', 'down']],
  ['one is read-only', 'read-only', 'nothing', 200, 'degraded', ['read-only', 'up']],
])('GET /health/ready of a feature › %s', async (_title, first, second, code, status, states) => {
  await choose(first, second);
  const expected = { search: states[0], mail: states[1], database: 'up', shutdown: 'no' };
  const { status: sent, json } = await report();
  expect(sent).toBe(code);
  expect(json).toMatchObject({ status, checks: expected });
  const metrics = await store.service.metrics();
  const isUp = (name: string) =>
    `component_up{component="${name}"} ${+(states[+(name === 'mail')] !== 'down')}`;
  for (const name of ['search', 'mail']) expect(metrics).toContain(isUp(name));
  expect(metrics).toContain('component_up{component="database_writes"} 1');
});

/** Returns the log lines so far about changes of a component. */
async function changesOf(component: string): Promise<LogLine[]> {
  // They arrive before the metrics.
  await store.service.metrics();
  const isChange = (line: LogLine) =>
    line.msg === 'component changed' && line['component'] === component;
  return store.service.logs().filter(isChange);
}

test('each change of a component is logged, with the cause', async () => {
  await choose('up', 'up');
  await report();
  const before = (await changesOf('mail')).length;
  for (const check of ['fails', 'fails', 'hangs', 'up']) {
    await choose('up', check);
    await report();
  }
  const [down, up, ...others] = (await changesOf('mail')).slice(before);
  expect(down).toMatchObject({ level: 40, state: 'down', cause: 'refused' });
  expect(up).toMatchObject({ level: 30, state: 'up' });
  expect(up).not.toHaveProperty('cause');
  expect(others).toEqual([]);
});

test('GET /health/ready › any number of probes share one check, and the next one checks again', async () => {
  await choose('up', 'up');
  const { json } = await store.api.get('/v1/components/shared');
  expect(json).toEqual({ statuses: ['ok'], checks: [1, 2] });
});

test('a name of a component that is taken is rejected', async () => {
  const failureOf = async (name: string) =>
    (await store.api.post(`/v1/components/${name}`, {})).json.failure;
  for (const name of ['database', 'shutdown', 'search']) {
    expect(await failureOf(name)).toBe(`${name} is taken`);
  }
  expect(await failureOf('printer')).toBeNull();
});
