import { load } from 'js-yaml';
import { ApiClient, send } from '../../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../../harness/database/database.js';
import { createOwner, createPets } from '../../harness/database/factories.js';
import { sequentially } from '../../harness/rate-limit/limits.js';
import { describeWithRedis, type RedisServer, startRedis } from '../../harness/processes/redis.js';
import { type BuiltService, startBuiltService } from '../../harness/service/service.js';
import { readComposeFile, readProjectFile } from '../../harness/stack/compose-file.js';
import {
  alerts,
  type DataSource,
  panels,
  variables,
} from '../../harness/stack/monitoring-files.js';
import { parsePromql } from '../../harness/stack/promql.js';

const PROVISIONING = 'deploy/grafana/provisioning';

/** Title, query, and the text that shows the result. */
const queries = [
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const),
  ),
  ...alerts.map(
    ({ alert, expr, annotations }) => [alert, expr, annotations['summary'] ?? ''] as const,
  ),
];

/** Added by Prometheus. */
const PROMETHEUS_LABELS = ['job', 'instance'];
const PROMETHEUS_METRICS = ['up'];

// Some metrics exist only if the service uses Redis or bans, so this service uses both.
describeWithRedis('a service with Redis and a ban', () => {
  let redis: RedisServer;
  let database: TestDatabase;
  let service: BuiltService;
  let exposition: string;

  beforeAll(async () => {
    redis = await startRedis();
    database = await createDatabase();
    service = await startBuiltService({
      DATABASE_URL: database.url,
      METRICS_PORT: '0',
      REDIS_URL: redis.url,
    });
    const { key } = await createOwner(database, { limits: { perMinute: 2, perDay: 9 } });
    const [petId] = await createPets(database, 1);
    // The second rejected request causes a ban.
    await sequentially(4, () => new ApiClient(service, key).get(`/v1/pets/${petId}`));
    const url = String(service.logs().find(({ msg }) => msg === 'listening')?.['metrics']);
    exposition = (await send({ url }, '/metrics')).text;
  });
  afterAll(async () => {
    await service.stop();
    await database.close();
    await redis.close();
  });

  /** @param name of a sample, which for histograms is the name of the metric and a suffix */
  const isExposed = (name: string): boolean =>
    PROMETHEUS_METRICS.includes(name) || new RegExp(`^${name}(?:\\{| )`, 'm').test(exposition);

  const hasLabel = (label: string): boolean =>
    PROMETHEUS_LABELS.includes(label) || exposition.includes(`${label}="`);

  test.each(queries)(
    '%s: uses metrics and labels that the service exposes, and shows labels of its result',
    (_, expr, text) => {
      const { metrics, labels, grouping, errors } = parsePromql(expr);
      expect(errors).toBe(0);
      expect(metrics.filter((name) => !isExposed(name))).toEqual([]);
      expect(labels.filter((label) => !hasLabel(label))).toEqual([]);
      const used = [...text.matchAll(/\{\{ ?(?:\$labels\.)?(\w+)/g)].map(([, label = '']) => label);
      const isInResult = grouping ? (label: string) => grouping.includes(label) : hasLabel;
      expect(used.filter((label) => !isInResult(label))).toEqual([]);
    },
  );
});

test.each(alerts)('$alert: has a summary, a severity and a runbook', (rule) => {
  expect(rule).toEqual({
    alert: expect.stringMatching(/^[A-Z]\w+$/),
    expr: expect.any(String),
    ...(rule.for !== undefined && { for: expect.stringMatching(/^\d+m$/) }),
    labels: { severity: expect.stringMatching(/^(critical|warning)$/) },
    annotations: {
      summary: expect.stringMatching(/\.$/),
      runbook_url: `{{ $externalLabels.runbooks }}#${rule.alert.toLowerCase()}`,
    },
  });
});

test('each alert has a unique name and selects only metrics of this service', () => {
  const names = alerts.map(({ alert }) => alert);
  expect(names).toEqual([...new Set(names)]);
  const { scrape_configs: jobs } = load(readProjectFile('deploy/prometheus.yml')) as {
    scrape_configs: { job_name: string }[];
  };
  for (const [, expr] of queries) {
    const selectors = expr.match(/\{.*?\}/g);
    expect(selectors).toHaveLength(parsePromql(expr).metrics.length);
    for (const selector of selectors ?? []) {
      expect(selector).toContain(`job="${jobs[0]?.job_name}"`);
    }
  }
});

test('docs/operations.md has a section for each alert, in the order of the rules, that says what to do', () => {
  const [, pages = ''] = readProjectFile('docs/operations.md').split(/^### Alerts$/m);
  const sections = pages.split(/^#### /m).slice(1);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(
    alerts.map(({ alert }) => alert),
  );
  for (const [index, section] of sections.entries()) {
    const severity = alerts[index]?.labels['severity'] ?? '';
    expect(section.toLowerCase()).toContain(`**${severity}.**`);
    expect(section).toMatch(/^(\*\*Do:\*\* \S|\|.*what to do)/m);
  }
});

test('Prometheus gets the address of the runbook from docker-compose.yml', () => {
  const { global } = load(readProjectFile('deploy/prometheus.yml')) as {
    global: { external_labels: Record<string, string> };
  };
  expect(global.external_labels).toEqual({ runbooks: '${RUNBOOKS_URL}' });
  const runbooks = (variables = {}): unknown =>
    readComposeFile(variables).services['prometheus']?.environment?.['RUNBOOKS_URL'];
  expect(runbooks()).toBe('docs/operations.md');
  expect(runbooks({ RUNBOOKS_URL: 'https://a.example/b' })).toBe('https://a.example/b');
});

test.each(panels)(
  'panel $title: has a description, and names only runbooks that exist',
  (panel) => {
    expect(panel.description).toMatch(/\.$/);
    const names = [...panel.description.matchAll(/Runbook: (\w+)/g)].map(([, name]) => name);
    expect(alerts.map(({ alert }) => alert)).toEqual(expect.arrayContaining(names));
  },
);

test('the dashboard shows the selected replicas and routes, and no health probes', () => {
  expect(variables.map(({ name }) => name)).toEqual(['instance', 'route']);
  for (const { expr } of panels.flatMap(({ targets }) => targets)) {
    for (const selector of expr.match(/\w+\{.*?\}/g) ?? []) {
      expect(selector).toContain('instance=~"$instance"');
      if (!selector.startsWith('http_server_request_duration')) continue;
      expect(selector).toContain('http_route=~"$route", http_route!~"/health/.*"');
    }
  }
});

test('the alert rules are mounted at the path that Prometheus reads', () => {
  const { rule_files: files } = load(readProjectFile('deploy/prometheus.yml')) as {
    rule_files: string[];
  };
  const { prometheus } = readComposeFile().services;
  for (const file of files) {
    // Relative to the configuration file.
    expect(prometheus?.volumes).toContain(`./deploy/${file}:/etc/prometheus/${file}:ro`);
  }
  expect(files).toEqual(['alerts.yml']);
});

test('the dashboard uses the provisioned data source, which is the Prometheus of docker-compose.yml', () => {
  const { datasources } = load(readProjectFile(`${PROVISIONING}/datasources/prometheus.yml`)) as {
    datasources: (DataSource & { url: string })[];
  };
  const { type, uid, url } = datasources[0]!;
  for (const { datasource, targets } of panels) {
    for (const used of [datasource, ...targets.map((target) => target.datasource)]) {
      expect(used).toEqual({ type, uid });
    }
  }
  expect(url).toBe('http://prometheus:9090');
  const { prometheus } = readComposeFile().services;
  expect(prometheus?.ports).toEqual(['127.0.0.1:9090:9090']);
});

test('the dashboard is mounted at the path that Grafana reads', () => {
  const { providers } = load(readProjectFile(`${PROVISIONING}/dashboards/dashboards.yml`)) as {
    providers: { options: { path: string } }[];
  };
  const { grafana } = readComposeFile().services;
  expect(grafana?.volumes).toContain(
    `./deploy/grafana/dashboards:${providers[0]?.options.path}:ro`,
  );
  expect(grafana?.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH']).toBe(
    `${providers[0]?.options.path}/service.json`,
  );
});
