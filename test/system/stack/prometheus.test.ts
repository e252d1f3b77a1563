import { createDatabase, type TestDatabase } from '../../harness/database/database.js';
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
import { alerts, panels, variables } from '../../harness/stack/monitoring-files.js';

const RUNBOOKS = 'https://runbooks.example/docs/operations.md';

const queries = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

(hasPrometheus() ? describeWithRedis : describe.skip)('a Prometheus that scrapes a replica', () => {
  let redis: RedisServer;
  let database: TestDatabase;
  let service: BuiltService;
  let prometheus: Prometheus;

  beforeAll(async () => {
    redis = await startRedis();
    database = await createDatabase();
    // With everything that adds metrics.
    service = await startBuiltService({
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      METRICS_PORT: '0',
    });
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
    await requests();
    // Rates need a scrape before and after the requests.
    while ((await prometheus.query('increase(pets_key_lookups_total[1m]) > 0')).length === 0) {
      await requests();
    }
  }, 60_000);
  afterAll(async () => {
    await prometheus.stop();
    await service.stop();
    await database.close();
    await redis.close();
  });

  /** Replaces variables as Grafana does while all values are selected. */
  const inGrafana = (expr: string): string =>
    variables
      .reduce((text, { name }) => text.replaceAll(`$${name}`, '.*'), expr)
      .replaceAll('$__rate_interval', '1m');

  test.each(queries)('panel %s: shows data: %s', async (_title, expr) => {
    const samples = await prometheus.query(inGrafana(expr));
    expect(samples.length).toBeGreaterThan(0);
    for (const { metric, value } of samples) {
      expect(Number(value[1])).not.toBeNaN();
      expect(metric['http_route'] ?? '').not.toMatch(/^\/health/);
    }
  });

  test.each(variables)('variable $name: lists values', async ({ expr }) => {
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(expr) ?? [];
    const values = new Set((await prometheus.query(selector)).map(({ metric }) => metric[label]));
    expect(values.size).toBeGreaterThan(0);
    expect([...values].join(' ')).not.toMatch(/\/health/);
  });

  test('every alert rule is evaluated, and TooFewReplicas leads to its runbook', async () => {
    interface Rule {
      name: string;
      health: string;
      lastError?: string;
      alerts: { annotations: Record<string, string> }[];
    }
    const { groups } = await prometheus.get<{ groups: { rules: Rule[] }[] }>('rules');
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.map(({ name, health, lastError = '' }) => [name, health, lastError])).toEqual(
      alerts.map(({ alert }) => [alert, 'ok', '']),
    );
    // There is only one replica.
    const [pending] = rules.find(({ name }) => name === 'TooFewReplicas')?.alerts ?? [];
    expect(pending?.annotations).toEqual({
      summary: 'Fewer than two replicas are up: 1.',
      runbook_url: `${RUNBOOKS}#toofewreplicas`,
    });
  });
});
