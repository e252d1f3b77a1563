import { load } from 'js-yaml';
import { ApiClient, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { sequentially } from '../harness/rate-limit/limits.js';
import { describeWithRedis, type RedisServer, startRedis } from '../harness/processes/redis.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';
import { readComposeFile, readProjectFile } from '../harness/stack/compose-file.js';
import { parsePromql } from '../harness/stack/promql.js';

const PROVISIONING = 'deploy/grafana/provisioning';

interface Source {
  type: string;
  uid: string;
}

interface Dashboard {
  uid: string;
  panels: {
    title: string;
    datasource: Source;
    targets: { datasource: Source; expr: string; legendFormat: string }[];
  }[];
}

interface AlertRules {
  groups: {
    rules: {
      alert: string;
      expr: string;
      for?: string;
      labels: Record<string, string>;
      annotations: Record<string, string>;
    }[];
  }[];
}

const dashboard = JSON.parse(
  readProjectFile('deploy/grafana/dashboards/service.json'),
) as Dashboard;
const alerts = (load(readProjectFile('deploy/alerts.yml')) as AlertRules).groups.flatMap(
  ({ rules }) => rules,
);
/** Title, query, and the text that shows the result. */
const queries = [
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const),
  ),
  ...alerts.map(
    ({ alert, expr, annotations }) => [alert, expr, annotations['summary'] ?? ''] as const,
  ),
];

/** Added by Prometheus. */
const PROMETHEUS_LABELS = ['job', 'instance'];
const PROMETHEUS_METRICS = ['up'];

// Some metrics exist only if the service uses Redis, standbys or bans, so this service uses them all.
describeWithRedis('a service with Redis, a standby and a ban', () => {
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
      // The primary also serves as the standby.
      DATABASE_REPLICA_URLS: database.url,
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
      runbook: 'docs/operations.md#alerts',
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

test('the runbook in docs/operations.md explains each alert and what to do', () => {
  const documentation = readProjectFile('docs/operations.md');
  const section = /^## Alerts$([^]*?)(?=^## |(?![^]))/m.exec(documentation)?.[1];
  const rows = [...(section ?? '').matchAll(/^\| `(\w+)` +\| \S.*\| \S.*\|$/gm)];
  expect(rows.map(([, name]) => name)).toEqual(alerts.map(({ alert }) => alert));
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
    datasources: (Source & { url: string })[];
  };
  const { type, uid, url } = datasources[0]!;
  for (const { datasource, targets } of dashboard.panels) {
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
