import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
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
import { readComposeFile, readProjectFile } from '../../harness/stack/compose-file.js';

interface Dashboard {
  templating: { list: { name: string; query: { query: string } }[] };
  panels: { title: string; targets?: { expr: string }[] }[];
}

const RUNBOOKS = 'https://runbooks.example/docs/operations.md';

const ALERT_TESTS = join(__dirname, '../../../deploy/alerts.test.yml');

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

  test.each(variables)('variable $name lists values', async ({ query: { query } }) => {
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
    const values = new Set((await prometheus.query(selector)).map(({ metric }) => metric[label]));
    expect(values.size).toBeGreaterThan(0);
    expect([...values].join(' ')).not.toMatch(/\/health/);
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

(hasPrometheus() ? test : test.skip)('each alert fires for its cause, and no other fires', () => {
  const tests = readProjectFile('deploy/alerts.test.yml');
  for (const { alert } of alerts) expect(tests).toContain(`- name: ${alert}, `);
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', ALERT_TESTS], {
    encoding: 'utf8',
  });
  expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')]);
});

test('each alert links to its own section of docs/operations.md, which has its severity', () => {
  const [, page = ''] = readProjectFile('docs/operations.md').split(/^### Alerts$/m);
  const sections = page.split(/^#### /m).slice(1);
  for (const { alert, labels } of alerts) {
    const section = sections.find((text) => text.startsWith(`${alert}\n`)) ?? '';
    expect([alert, section.toLowerCase()]).toEqual([
      alert,
      expect.stringContaining(`**${labels.severity}.**`),
    ]);
    const rule = readProjectFile('deploy/alerts.yml').split(`- alert: ${alert}\n`)[1];
    const [, anchor] = /\{\{ \$externalLabels\.runbooks \}\}#(\w+)/.exec(rule ?? '') ?? [];
    expect(anchor).toBe(alert.toLowerCase());
  }
});

test('Prometheus scrapes the metrics port of each replica of docker-compose.yml', () => {
  const { scrape_configs } = load(readProjectFile('deploy/prometheus.yml')) as {
    scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[];
  };
  expect(scrape_configs[0]?.dns_sd_configs[0]).toMatchObject({ names: ['api'], port: 9464 });
  const { api, prometheus } = readComposeFile().services;
  expect(api?.environment).toMatchObject({ METRICS_HOST: '0.0.0.0' });
  expect(prometheus?.volumes).toContain('./deploy/alerts.yml:/etc/prometheus/alerts.yml:ro');
});
