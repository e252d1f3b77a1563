import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { Settings } from '../../../src/platform/config/settings.js';
import { ERRORS, type ErrorCode } from '../../../src/platform/errors/catalogue.js';
import { findHaproxy, HAPROXY_CONFIG } from '../../harness/processes/haproxy.js';
import { describeWithRedis, startRedis } from '../../harness/processes/redis.js';
import { inheritedEnvironment } from '../../harness/service/service.js';
import {
  type ComposeService,
  readComposeFile,
  readProjectFile,
} from '../../harness/stack/compose-file.js';

interface Image {
  /** Environment variables and options of the command, as documented. */
  variables: string[];
  options: string[];
  /** Mount points of data or configuration, as documented. */
  paths: string[];
  /** Ports it listens on. */
  ports: number[];
  /** Programs in the image that health checks call. */
  programs: string[];
}

/** The parts of each image that docker-compose.yml uses, from the documentation of the image and its program. */
const IMAGES: Record<string, Image> = {
  'haproxy:3.2-alpine': {
    // Presets of haproxy.cfg.
    variables: ['CONNECTIONS_PER_ADDRESS', 'CONNECTIONS_PER_NETWORK', 'DOCS_REQUESTS_PER_ADDRESS'],
    options: [],
    paths: ['/usr/local/etc/haproxy/haproxy.cfg', '/usr/local/etc/haproxy/errors'],
    // From haproxy.cfg.
    ports: [3000],
    programs: ['wget'],
  },
  'postgres:18': {
    variables: ['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD'],
    options: [],
    paths: [
      '/var/lib/postgresql',
      '/docker-entrypoint-initdb.d/1-roles.sql',
      '/docker-entrypoint-initdb.d/2-passwords.sh',
      '/var/run/postgresql',
    ],
    ports: [5432],
    programs: ['pg_isready'],
  },
  'redis:7': {
    variables: [],
    options: ['redis-server', '--maxmemory', '--maxmemory-policy', '--save', '--appendonly'],
    // The second one comes from the entry point.
    paths: ['/data', '/usr/local/bin/with-password.sh'],
    ports: [6379],
    programs: ['sh'],
  },
  'prom/prometheus:v3.5.0': {
    // From prometheus.yml.
    variables: ['RUNBOOKS_URL'],
    options: ['--config.file', '--storage.tsdb.path', '--storage.tsdb.retention.time'],
    // The second one comes from prometheus.yml.
    paths: ['/etc/prometheus/prometheus.yml', '/etc/prometheus/alerts.yml', '/prometheus'],
    ports: [9090],
    programs: ['wget'],
  },
  'grafana/grafana:12.1.0': {
    // GF_SECTION_KEY overrides a key of the section in grafana.ini.
    variables: [
      'GF_SECURITY_ADMIN_PASSWORD',
      'GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION',
      'GF_AUTH_DISABLE_LOGIN_FORM',
      'GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH',
    ],
    options: [],
    paths: [
      '/etc/grafana/grafana.ini',
      '/etc/grafana/provisioning',
      '/etc/grafana/dashboards',
      '/var/lib/grafana',
      '/tmp',
    ],
    ports: [3000],
    programs: ['wget'],
  },
};

const { services, volumes, networks } = readComposeFile();
const dockerfile = readProjectFile('Dockerfile');
const haproxyConfig = readProjectFile('deploy/haproxy.cfg');
const prometheusConfig = load(readProjectFile('deploy/prometheus.yml')) as {
  scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[];
};
const exposed = /^EXPOSE (.+)$/m.exec(dockerfile)?.[1]?.split(' ').map(Number) ?? [];

const { api, pets, migrate } = services as Record<'api' | 'pets' | 'migrate', ComposeService>;
/** The services that run the image of this project. The last two are commands, which end. */
const own = [api, pets, migrate];
const upstream = Object.entries(services).filter(([, service]) => !own.includes(service));
const imageOf = ({ image = '' }: ComposeService): Image => IMAGES[image]!;
const environmentOf = ({ environment = {} }: ComposeService): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));
/** Returns the default of a variable in haproxy.cfg. */
const preset = (name: string): string =>
  new RegExp(`^ *presetenv ${name} (.+)$`, 'm').exec(haproxyConfig)?.[1] ?? '';
/** The mounts of a service that are not parts of volumes. */
const mountsOf = ({ volumes: mounts = [] }: ComposeService): string[] =>
  mounts.filter((mount) => typeof mount === 'string');
const seconds = (text = ''): number => Number(/^(\d+)s$/.exec(text)?.[1]);

test('the service has two replicas, and every container has limits, a health check and known dependencies', () => {
  expect(api.deploy.replicas).toBe(2);
  for (const service of Object.values(services)) {
    expect(service.deploy.resources.limits).toEqual({
      // The engine rejects more processors than the machine has.
      cpus: '1',
      memory: expect.stringMatching(/^\d+[MG]$/),
      pids: expect.any(Number),
    });
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      logging: { driver: 'local', options: { 'max-size': '10m', 'max-file': '5' } },
      restart: [pets, migrate].includes(service) ? 'no' : 'unless-stopped',
    });
    expect(service).not.toHaveProperty('cap_add');
    expect(service).not.toHaveProperty('privileged');
    for (const other of Object.keys(service.depends_on ?? {}))
      expect(services).toHaveProperty(other);
  }
  for (const [, service] of upstream) {
    expect(imageOf(service).programs).toContain(service.healthcheck?.test?.[1]);
  }
  // The Dockerfile contains the health check of the service.
  expect(dockerfile).toMatch(/^HEALTHCHECK /m);
  expect(own.map(({ healthcheck }) => healthcheck?.disable ?? false)).toEqual([false, true, true]);
  const optional = upstream.filter(([, { profiles }]) => profiles?.includes('monitoring'));
  expect(optional.map(([name]) => name)).toEqual(['prometheus', 'grafana']);
});

test('no container runs as root', () => {
  // The other images set a user themselves.
  expect([services['postgres']?.user, services['redis']?.user]).toEqual(['postgres', 'redis']);
  expect(dockerfile).toMatch(/^USER node$/m);
});

test('migrations run before the replicas start, as the role that owns the tables', () => {
  expect(api.depends_on).toMatchObject({
    migrate: { condition: 'service_completed_successfully' },
  });
  expect(environmentOf(api)['MIGRATE_ON_START']).toBe('false');
  expect([migrate.entrypoint, migrate.command]).toEqual([['pets'], ['db', 'migrate']]);
  expect(dockerfile).toContain('> /usr/local/bin/pets ');
  expect(migrate.profiles).toEqual([]);
});

test('operators’ commands run the image of the replicas, and do not start with them', () => {
  expect(new Set(own.map(({ image }) => image)).size).toBe(1);
  expect(own.map(({ build }) => build)).toEqual(['.', '.', '.']);
  expect([pets.entrypoint, pets.command, pets.profiles]).toEqual([
    ['pets'],
    undefined,
    ['commands'],
  ]);
});

test('only containers that communicate share a network, and only containers with a published port have external access', () => {
  const pairs = Object.keys(networks).flatMap((network) => {
    const members = Object.keys(services).filter((name) =>
      services[name]?.networks.includes(network),
    );
    return members.length > 1 ? [members.sort().join(' ')] : [];
  });
  expect(pairs.sort()).toEqual([
    'api load-balancer',
    'api migrate pets postgres',
    'api migrate pets redis',
    'api prometheus',
    'grafana prometheus',
  ]);
  for (const { networks: joined, ports } of Object.values(services)) {
    const open = joined.filter((network) => !networks[network]?.internal);
    expect(open).toHaveLength(ports ? 1 : 0);
  }
});

test('Grafana has an administrator and a login only with GRAFANA_PASSWORD', () => {
  const ini = readProjectFile('deploy/grafana/grafana.ini');
  expect(ini).toMatch(/^\[security\]\ndisable_initial_admin_creation = true$/m);
  expect(ini).toMatch(/^\[auth\]\ndisable_login_form = true$/m);
  // An empty variable counts as unset.
  const environment = (variables = {}): Record<string, string> =>
    environmentOf(readComposeFile(variables).services['grafana']!);
  const unset = Object.entries(environment()).filter(([, value]) => /^(?:|null)$/.test(value));
  expect(unset.map(([name]) => name).sort()).toEqual([
    'GF_AUTH_DISABLE_LOGIN_FORM',
    'GF_SECURITY_ADMIN_PASSWORD',
    'GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION',
  ]);
  expect(environment({ GRAFANA_PASSWORD: 'secret' })).toMatchObject({
    GF_AUTH_DISABLE_LOGIN_FORM: 'false',
    GF_SECURITY_ADMIN_PASSWORD: 'secret',
    GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'false',
  });
});

test('each variable of the service and its commands is a setting with a valid value', () => {
  const known = new Set<string>();
  const recorder = new Proxy({}, { get: (_, name) => void known.add(String(name)) });
  expect(new Settings(recorder).server).toMatchObject({ port: 3000 });
  const environment = environmentOf(api);
  for (const service of own) {
    expect([...known]).toEqual(expect.arrayContaining(Object.keys(environmentOf(service))));
  }
  // The other containers write these files.
  const others = Object.entries(environment).filter(([name]) => !name.endsWith('_FILE'));
  const { server } = new Settings({
    SHUTDOWN_DELAY_SECONDS: '5',
    ...Object.fromEntries(others),
  });
  expect(server.trustProxy).toBe(1);
  const stopMs = server.shutdownDelayMs + server.shutdownGraceMs;
  expect(seconds(api.stop_grace_period) * 1000).toBeGreaterThan(stopMs);
});

test.each(upstream)(
  '%s: its image documents the variables, options and ports',
  (_name, service) => {
    const image = imageOf(service);
    expect(image.variables).toEqual(expect.arrayContaining(Object.keys(environmentOf(service))));
    // An argument after an option is its value.
    const options = (service.command ?? []).filter((word) => /^(?:--|redis-server$)/.test(word));
    expect(image.options).toEqual(
      expect.arrayContaining(options.map((option) => option.replace(/=.*/, ''))),
    );
    for (const port of service.ports ?? []) {
      const [, host, containerPort] = /^([\d.]+):\d+:(\d+)$/.exec(port) ?? [];
      expect(host).toBe('127.0.0.1');
      expect(image.ports).toContain(Number(containerPort));
    }
  },
);

test.each(upstream)('%s: every mount exists, at a path that its image reads', (_name, service) => {
  for (const volume of mountsOf(service)) {
    const [source = '', target, mode] = volume.split(':');
    expect(imageOf(service).paths).toContain(target);
    if (!source.startsWith('./')) expect(Object.keys(volumes)).toContain(source);
    else {
      expect(existsSync(join(__dirname, '../../..', source))).toBe(true);
      expect(mode).toBe('ro');
    }
  }
});

test('each container reads the secrets of its own role, from the paths where their containers store them', () => {
  const addresses = '/var/lib/postgresql/addresses';
  expect(services['postgres']?.volumes).toContain('postgres:/var/lib/postgresql');
  expect(readProjectFile('deploy/postgres/passwords.sh')).toContain(`:-${addresses}}`);
  for (const [service, role] of [
    [api, 'pets_service'],
    [pets, 'pets_owner'],
    [migrate, 'pets_owner'],
  ] as const) {
    // Not the whole volume, which contains the addresses of both roles.
    expect(service.volumes).toEqual([
      {
        type: 'volume',
        source: 'postgres',
        target: '/run/postgres',
        read_only: true,
        volume: { subpath: `addresses/${role}` },
      },
      'redis:/run/redis:ro',
    ]);
    const secrets = Object.entries(environmentOf(service)).filter(([name]) =>
      name.endsWith('_FILE'),
    );
    expect(Object.fromEntries(secrets)).toEqual({
      DATABASE_URL_FILE: '/run/postgres/url',
      REDIS_URL_FILE: '/run/redis/url',
    });
  }
});

test('the load balancer listens on its published port and finds the port of the replicas', () => {
  const { port, metricsPort } = new Settings({}).server;
  expect(exposed).toEqual([port, metricsPort]);
  expect(preset('LISTEN_ADDRESS')).toBe(':3000');
  expect(services['load-balancer']?.ports).toEqual(['127.0.0.1:3000:3000']);
  expect(preset('REPLICAS')).toBe(`api:${port}`);
  const hardStop = /hard-stop-after (\w+)/.exec(haproxyConfig)?.[1];
  expect(services['load-balancer']?.stop_grace_period).toBe(hardStop);
});

test('the load balancer frees idle connections when half of its connections are open', () => {
  const maxConnections = Number(/^ *maxconn (\d+)$/m.exec(haproxyConfig)?.[1]);
  expect(Number(preset('BUSY_CONNECTIONS'))).toBe(maxConnections / 2);
  for (const name of ['CONNECTIONS_PER_ADDRESS', 'CONNECTIONS_PER_NETWORK']) {
    expect(Number(preset(name))).toBeLessThanOrEqual(maxConnections / 5);
    // Compose has the same defaults.
    expect(environmentOf(services['load-balancer']!)[name]).toBe(preset(name));
  }
});

test('the load balancer sends a replica more requests than the replica admits', () => {
  const { maxRequestsInProgress } = new Settings({}).bounds;
  expect(Number(preset('REQUESTS_PER_REPLICA'))).toBeGreaterThan(maxRequestsInProgress);
});

test('the load balancer waits longer for a response than the service takes', () => {
  const { poolWaitMs, statementTimeoutMs } = new Settings({}).database;
  expect(seconds(preset('RESPONSE_TIMEOUT')) * 1000).toBeGreaterThan(
    poolWaitMs + statementTimeoutMs + 500,
  );
});

test('Prometheus scrapes the metrics port of each replica', () => {
  const [found] = prometheusConfig.scrape_configs.flatMap((job) => job.dns_sd_configs);
  expect(found).toMatchObject({ names: ['api'], port: new Settings({}).server.metricsPort });
  expect(environmentOf(api)['METRICS_HOST']).toBe('0.0.0.0');
});

test('deploy/errors: each response has an Error body with a known code and its status', () => {
  const files = readdirSync(join(__dirname, '../../../deploy/errors'));
  const used = [...haproxyConfig.matchAll(/errorfile \d+ errors\/(\S+)/g)].map(([, file]) => file);
  expect([...new Set(used)].sort()).toEqual(files.sort());
  for (const file of files) {
    const [head = '', body = ''] = readProjectFile(`deploy/errors/${file}`).split('\n\n');
    const status = Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1]);
    const error = JSON.parse(body) as { code: ErrorCode };
    expect(error).toEqual({ code: expect.any(String), message: expect.any(String), status });
    expect(ERRORS[error.code].status).toBe(status);
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
    expect(/^Retry-After: \d+$/m.test(head)).toBe([429, 503].includes(status));
  }
});

const haproxy = findHaproxy();
(haproxy ? test : test.skip)('deploy/haproxy.cfg is valid', () => {
  const env = inheritedEnvironment();
  const run = spawnSync(haproxy ?? '', ['-c', '-f', HAPROXY_CONFIG], { env, encoding: 'utf8' });
  expect([run.status, run.stderr]).toEqual([0, '']);
});

describeWithRedis('the redis command in docker-compose.yml', () => {
  test('never evicts, uses half of the container’s memory, and preserves counters during a restart', async () => {
    const { command, deploy } = services['redis']!;
    const redis = await startRedis({ args: command!.slice(1) });
    try {
      const configured = async (name: string): Promise<string | undefined> =>
        ((await redis.client.config('GET', name)) as string[])[1];
      expect(await configured('maxmemory-policy')).toBe('noeviction');
      const mebibytes = Number(await configured('maxmemory')) / 1_048_576;
      expect(deploy.resources.limits['memory']).toBe(`${2 * mebibytes}M`);
      await redis.client.set('count', 7);
      await redis.signal('SIGKILL');
      await redis.start();
      expect(await redis.client.get('count')).toBe('7');
    } finally {
      await redis.close();
    }
  });
});
