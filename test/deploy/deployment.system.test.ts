import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { load } from 'js-yaml';
import { PRODUCT } from '../../src/product.js';
import { Settings } from '../../src/platform/config/settings.js';
import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient } from '../harness/http/client.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';
import { readComposeFile, readProjectFile } from '../harness/stack/compose-file.js';

// The files' own tools check them in .ci/run. These tests compare them with the service.

const { services } = readComposeFile();
const secondsIn = (text = ''): number => Number(/(\d+)s/.exec(text)?.[1]);

/** Returns the default of a variable in haproxy.cfg. */
const preset = (name: string): string =>
  new RegExp(`^ *presetenv ${name} (.+)$`, 'm').exec(readProjectFile('deploy/haproxy.cfg'))?.[1] ??
  '';

interface Manifest {
  spec: {
    template: {
      spec: {
        terminationGracePeriodSeconds: number;
        shareProcessNamespace?: boolean;
        containers: [{ env: { name: string; value: string }[] }];
      };
    };
  };
}

/** The settings of each example, and how long it waits for the end of a replica. */
const unit = readProjectFile('deploy/systemd/animal-adoption-store@.service');
const environment = Object.fromEntries(
  [...unit.matchAll(/^Environment=(.*)$/gm)]
    .flatMap(([, line = '']) => line.replaceAll('%i', '3001').split(' '))
    .map((text) => text.split('=') as [string, string]),
);
const deployment = load(readProjectFile('deploy/kubernetes/deployment.yaml')) as Manifest;
const { spec: pod } = deployment.spec.template;
const EXAMPLES: [file: string, settings: Record<string, unknown>, stopSeconds: number][] = [
  [
    'docker-compose.yml',
    services['api']!.environment ?? {},
    secondsIn(services['api']!.stop_grace_period),
  ],
  [
    'deploy/kubernetes',
    {
      ...parseEnv(readProjectFile('deploy/kubernetes/config.env')),
      ...Object.fromEntries(pod.containers[0].env.map(({ name, value }) => [name, value])),
    },
    pod.terminationGracePeriodSeconds,
  ],
  ['deploy/systemd', environment, secondsIn(/^TimeoutStopSec=.*$/m.exec(unit)?.[0])],
];

test.each(EXAMPLES)('%s gives a replica valid settings, and time to stop', (_, given, stop) => {
  const known = readProjectFile('.env.example').match(/^[A-Z_]+(?==)|(?<=^# )[A-Z_]+(?==)/gm);
  const names = Object.keys(given).filter((name) => /^(?!NODE_)[A-Z]\w*$/.test(name));
  expect(known).toEqual(expect.arrayContaining(names));
  // Other programs write the files, and the certificate is in a Secret.
  const own = Object.entries(given).filter(
    ([name]) => names.includes(name) && !/_FILE$|^DATABASE_URL$/.test(name),
  );
  const { server } = new Settings(
    PRODUCT,
    Object.fromEntries(own.map(([name, value]) => [name, String(value)])),
  );
  expect(stop * 1000).toBeGreaterThan(server.shutdownDelayMs + server.shutdownGraceMs);
});

test('each container of docker-compose.yml has an init, so that no signal is lost', () => {
  const without = Object.entries(services).filter(([, { init }]) => init !== true);
  expect(without.map(([name]) => name)).toEqual([]);
});

test.each(['deployment', 'migrate'])(
  'in a pod of deploy/kubernetes/%s.yaml, the service is not process 1',
  (name) => {
    const { spec } = load(readProjectFile(`deploy/kubernetes/${name}.yaml`)) as Manifest;
    expect(spec.template.spec.shareProcessNamespace).toBe(true);
  },
);

test('the variables of a proxy change nothing between the parts of the service', () => {
  const files = execFileSync(
    'git',
    ['ls-files', 'deploy', 'docs', 'examples', 'scripts', '*.yml'],
    {
      cwd: join(__dirname, '../..'),
      encoding: 'utf8',
    },
  );
  const lines = files
    .trim()
    .split('\n')
    .filter((file) => /\.(?:md|sh|ya?ml|service|mjs)$/.test(file))
    .flatMap((file) => readProjectFile(file).split('\n'));
  const wget = lines.filter((line) => /\bwget\b/.test(line));
  expect(wget.length).toBeGreaterThan(3);
  expect(wget.filter((line) => !/wget(?:', '| )-Y(?:', '| )off/.test(line))).toEqual([]);
  const curl = lines.filter((line) => /\bcurl .*:(?:3000|\$port)\/health/.test(line));
  expect(curl.length).toBeGreaterThan(1);
  expect(curl.filter((line) => !line.includes("--noproxy '*'"))).toEqual([]);
  // Grafana asks Prometheus.
  expect(services['grafana']?.environment).toMatchObject({
    NO_PROXY: 'prometheus',
    no_proxy: 'prometheus',
  });
});

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.address === '::1');

const database = useDatabase();
const proxy = {
  HTTP_PROXY: 'http://127.0.0.1:1',
  http_proxy: 'http://127.0.0.1:1',
  NODE_USE_ENV_PROXY: '1',
};
let service: BuiltService;
/** Of the service, after a request. */
let measured: string;

beforeAll(async () => {
  service = await startBuiltService({
    ...proxy,
    DATABASE_URL: database.url,
    REDIS_URL: 'redis://127.0.0.1:1',
    ...(hasIpv6 && { HOST: '::', METRICS_HOST: '::' }),
  });
  const { key } = await createOwner(database);
  expect((await new ApiClient(service, key).get('/v1/items')).status).toBe(200);
  measured = await service.metrics();
});

(hasIpv6 ? test : test.skip)(
  'on :: the service has IPv4 and IPv6, and the health check of the image ignores a proxy',
  async () => {
    const [{ metrics } = {}] = service.logs().filter(({ msg }) => msg === 'listening');
    const { port } = new URL(service.url);
    for (const host of ['127.0.0.1', '[::1]']) {
      for (const [to, path] of [
        [port, '/health/ready'],
        [new URL(String(metrics)).port, '/metrics'],
      ]) {
        const headers = { Connection: 'close' };
        const [response] = await once(get(`http://${host}:${to}${path}`, { headers }), 'response');
        expect((response as IncomingMessage).resume().statusCode).toBe(200);
      }
    }
    const [, command = ''] = /^ +CMD (\["node", .*)$/m.exec(readProjectFile('Dockerfile')) ?? [];
    const [, ...args] = JSON.parse(command) as string[];
    const check = () =>
      new Promise((resolve) => {
        const child = spawn(process.execPath, args, { env: { ...proxy, PORT: port } });
        child.on('exit', resolve);
      });
    expect(await check()).toBe(0);
    await service.stop();
    expect(await check()).toBe(1);
  },
);

test('the pages create each file, user and group that the units and the command of deploy/systemd need', () => {
  const page = readProjectFile('deploy/systemd/README.md');
  const backup = readProjectFile('deploy/systemd/animal-adoption-store-backup.service');
  const pages = page + readProjectFile('docs/operations.md');
  const files = (page + backup + unit).matchAll(/\/etc\/animal-adoption-store\/[\w.-]+/g);
  const created = pages.matchAll(
    /(?:\/dev\/stdin |Create `)(\/etc\/animal-adoption-store\/[\w.-]+)/g,
  );
  expect(new Set(Array.from(created, ([, file]) => file))).toEqual(
    new Set(Array.from(files, ([file]) => file)),
  );
  const accounts = (pages + backup).matchAll(/(?:^User=|-[og] )(pets-[\w-]+)/gm);
  for (const [, name = ''] of accounts)
    expect(pages).toMatch(RegExp(`^ *(?:useradd|groupadd) --system ${name}$`, 'm'));
});

test('deploy/haproxy.cfg sends a replica more requests than it admits, and waits longer than it takes', () => {
  const { bounds, database } = new Settings(PRODUCT, {});
  expect(Number(preset('REQUESTS_PER_REPLICA'))).toBeGreaterThan(bounds.maxRequestsInProgress);
  const longestMs = database.poolWaitMs + database.statementTimeoutMs + 500;
  expect(secondsIn(preset('RESPONSE_TIMEOUT')) * 1000).toBeGreaterThan(longestMs);
});

test.each(['deploy/alerts.yml', 'deploy/grafana/dashboards/service.json'])(
  '%s uses metrics that a replica or deploy/postgres/backup.sh has, and each alert has its section of docs/runbook.md',
  (file) => {
    const written = readProjectFile('deploy/postgres/backup.sh').match(/(?<=gauge\(")\w+/g) ?? [];
    const metrics = [measured, ...written.map((name) => `# TYPE ${name} `)].join();
    const names = readProjectFile(file).match(
      RegExp(`\\b(?:${PRODUCT.metricsPrefix}|(?:http_server|db_client|nodejs|process)_)\\w+`, 'g'),
    );
    expect(names?.length).toBeGreaterThan(3);
    const missing = names?.filter((name) => {
      const family = name.replace(/_(?:bucket|count|sum)$/, '');
      return ![name, family].some((each) => metrics.includes(`# TYPE ${each} `));
    });
    expect(missing).toEqual([]);
    const alerts = Array.from(
      readProjectFile(file).matchAll(/- alert: (\w+)/g),
      ([, name]) => name,
    );
    const page = readProjectFile('docs/runbook.md');
    expect(alerts.filter((name) => !new RegExp(`^#+ ${name}$`, 'm').test(page))).toEqual([]);
    const links = readProjectFile(file).matchAll(/runbook_url: .*#(\w+)'$/gm);
    expect(Array.from(links, ([, anchor]) => anchor)).toEqual(
      alerts.map((name) => name?.toLowerCase()),
    );
  },
);
