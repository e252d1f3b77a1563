import { load } from 'js-yaml';
import { useDatabase } from '../../harness/database/database.js';
import { createOwner, createPets } from '../../harness/database/factories.js';
import { ApiClient, send } from '../../harness/http/client.js';
import {
  hasPrometheus,
  type Prometheus,
  startPrometheus,
} from '../../harness/processes/prometheus.js';
import { describeWithRedis, type RedisServer, startRedis } from '../../harness/processes/redis.js';
import { sequentially } from '../../harness/rate-limit/limits.js';
import { type BuiltService, startBuiltService } from '../../harness/service/service.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';

interface Dashboard {
  templating: { list: { name: string; query: { query: string } }[] };
  panels: { title: string; targets?: { expr: string }[] }[];
}

const RUNBOOKS = 'https://runbooks.example/docs/operations.md';

const dashboard = JSON.parse(
  readProjectFile('deploy/grafana/dashboards/service.json'),
) as Dashboard;
const variables = dashboard.templating.list;
const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);
const { groups: files } = load(readProjectFile('deploy/alerts.yml')) as {
  groups: { rules: { alert: string; expr: string; labels: { severity: string } }[] }[];
};
const alerts = files.flatMap(({ rules }) => rules);

(hasPrometheus() ? describeWithRedis : describe.skip)('a Prometheus that scrapes a replica', () => {
  let redis: RedisServer;
  const database = useDatabase();
  let service: BuiltService;
  let prometheus: Prometheus;

  beforeAll(async () => {
    // With everything that adds metrics: Redis, and a ban after the second rejected request.
    redis = await startRedis();
    service = await startBuiltService({ DATABASE_URL: database.url, REDIS_URL: redis.url });
    const { key } = await createOwner(database, { limits: { perMinute: 2, perDay: 9 } });
    const [petId] = await createPets(database, 1);
    const client = new ApiClient(service, key);
    const requests = async (): Promise<void> => {
      await sequentially(4, () => client.get(`/v1/pets/${petId}`));
      await send(service, '/health/ready');
    };
    await requests();
    const url = String(service.logs().find(({ msg }) => msg === 'listening')?.['metrics']);
    prometheus = await startPrometheus(new URL(url).host, RUNBOOKS);
    // Rates need a scrape before and after requests.
    do await requests();
    while ((await prometheus.query('increase(pets_key_lookups_total[1m]) > 0')).length === 0);
  }, 60_000);
  afterAll(async () => {
    await prometheus.stop();
    await redis.close();
  });

  /** Replaces variables as Grafana does while all values are selected. */
  const inGrafana = (expr: string): string =>
    variables
      .reduce((text, { name }) => text.replaceAll(`$${name}`, '.*'), expr)
      .replaceAll('$__rate_interval', '1m');

  test.each(panels)('panel %s shows data: %s', async (_title, expr) => {
    const samples = await prometheus.query(inGrafana(expr));
    expect(samples.length).toBeGreaterThan(0);
    for (const { metric, value } of samples) {
      expect(Number(value[1])).not.toBeNaN();
      expect(metric['http_route'] ?? '').not.toMatch(/^\/health/);
    }
  });

  test.each(alerts)('alert $alert uses metrics and labels that exist', async ({ expr }) => {
    const selectors = [...expr.matchAll(/(\w+)\{(.*?)\}/g)];
    expect(selectors.length).toBeGreaterThan(0);
    for (const [, metric = '', matchers = ''] of selectors) {
      for (const [, label = ''] of matchers.matchAll(/(\w+)(?:=|!)/g)) {
        const samples = `${metric}{job="animal-adoption-store", ${label}!=""}`;
        expect([samples, await prometheus.query(samples)]).not.toEqual([samples, []]);
      }
    }
  });
});

test('each alert links to its own section of docs/operations.md', () => {
  const page = readProjectFile('docs/operations.md');
  const rules = readProjectFile('deploy/alerts.yml');
  for (const { alert } of alerts) {
    expect(page).toMatch(new RegExp(`^#+ ${alert}$`, 'm'));
    expect(rules).toContain(`{{ $externalLabels.runbooks }}#${alert.toLowerCase()}'`);
  }
});
