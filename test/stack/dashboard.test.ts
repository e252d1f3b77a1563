import { parser } from '@prometheus-io/lezer-promql';
import { load } from 'js-yaml';
import { ApiClient, send } from '../harness/client.js';
import { createDatabase, type TestDatabase } from '../harness/database.js';
import { createOwner } from '../harness/factories.js';
import { describeWithRedis, type RedisServer, startRedis } from '../harness/redis.js';
import { type BuiltService, startBuiltService } from '../harness/service.js';
import { readComposeFile, readProjectFile } from './compose-file.js';

const PROVISIONING = 'deploy/grafana/provisioning';

interface Source {
  type: string;
  uid: string;
}

interface Dashboard {
  uid: string;
  panels: { title: string; datasource: Source; targets: { datasource: Source; expr: string }[] }[];
}

const dashboard = JSON.parse(
  readProjectFile('deploy/grafana/dashboards/service.json'),
) as Dashboard;
const expressions = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

/** Labels that Prometheus adds itself. */
const PROMETHEUS_LABELS = ['job', 'instance'];

// Some metrics are there only with what they tell of: the service has all of it.
describeWithRedis('with all that there are metrics of', () => {
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
    const client = new ApiClient(service, (await createOwner(database)).key);
    await client.get('/v1/pets');
    await client.get('/v1/pets/4711');
    const url = String(service.logs().find(({ msg }) => msg === 'listening')?.['metrics']);
    exposition = (await send({ url }, '/metrics')).text;
  });
  afterAll(async () => {
    await service.stop();
    await database.close();
    await redis.close();
  });

  /** @param name of a sample: that of a histogram's has an ending more than its metric's */
  const isExposed = (name: string): boolean =>
    new RegExp(`^${name}(?:\\{| )`, 'm').test(exposition);

  const hasLabel = (label: string): boolean =>
    PROMETHEUS_LABELS.includes(label) || exposition.includes(`${label}="`);

  test.each(expressions)(
    '%s: is PromQL of metrics and labels that the service exposes',
    (_, expr) => {
      const { metrics, labels, errors } = parsePromql(expr);
      expect(errors).toBe(0);
      expect(metrics.filter((name) => !isExposed(name))).toEqual([]);
      expect(labels.filter((label) => !hasLabel(label))).toEqual([]);
    },
  );
});

test('the data source is the one that is provisioned, at Prometheus of the composition', () => {
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

test('the dashboard is looked for where it is mounted', () => {
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

/** Returns what an expression asks for. */
function parsePromql(expr: string): { metrics: string[]; labels: string[]; errors: number } {
  // Grafana replaces its variable before Prometheus sees it.
  const text = expr.replaceAll('$__rate_interval', '1m');
  const metrics: string[] = [];
  const labels: string[] = [];
  let errors = 0;
  parser.parse(text).iterate({
    enter: ({ name, from, to, type, node }) => {
      if (type.isError) errors++;
      if (name === 'LabelName') labels.push(text.slice(from, to));
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') {
        metrics.push(text.slice(from, to));
      }
    },
  });
  return { metrics, labels, errors };
}
