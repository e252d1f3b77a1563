import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { loadAll } from 'js-yaml';
import { Settings } from '../../../src/platform/config/settings.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';
import { type Manifest, manifestErrors } from '../../harness/stack/manifest-errors.js';

const FOLDER = 'deploy/kubernetes';

const folder = mkdtempSync(join(tmpdir(), 'pets-kubernetes-'));
writeFileSync(join(folder, 'ca.crt'), rootCertificates[0]!);
afterAll(() => rmSync(folder, { recursive: true }));

interface Workload extends Manifest {
  spec: {
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds: number;
        securityContext: object;
        containers: [
          {
            env: { name: string; value: string }[];
            ports: object[];
            readinessProbe: { periodSeconds: number; failureThreshold: number };
            securityContext: object;
            volumeMounts: { name: string; mountPath: string }[];
          },
        ];
        volumes: object[];
      };
    };
  };
}

const files = readdirSync(join(__dirname, '../../..', FOLDER), { recursive: true })
  .map(String)
  .filter((file) => /\.ya?ml$/.test(file));
const documents = files.flatMap(
  (file) => loadAll(readProjectFile(`${FOLDER}/${file}`)) as Manifest[],
);
// kubectl reads it and sends it to no server.
const isKustomization = ({ kind }: Manifest): boolean => kind === 'Kustomization';
const manifests = documents.filter((document) => !isKustomization(document));
const find = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind)!;

interface Policy extends Manifest {
  spec: {
    podSelector: { matchLabels: object };
    policyTypes: string[];
    ingress: { from?: object[]; ports: { port: unknown }[] }[];
    egress?: { to?: object[] }[];
  };
}

const findPolicy = (name: string): Policy =>
  manifests.find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name,
  ) as Policy;

const { template } = (find('Deployment') as Workload).spec;
const { data } = find('ConfigMap') as Manifest & { data: Record<string, string> };

test('each manifest matches the schema of its kind, without unknown members', () => {
  const kinds = ['Ingress', 'NetworkPolicy', 'PodMonitor'];
  expect(manifests.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds));
  expect(manifestErrors(manifests)).toEqual([]);
});

test.each([
  ['a kind without a schema', { kind: 'Pet' }, 'No package has a schema for v1 Pet'],
  ['an unknown member', { spec: { port: 80 } }, "'IServiceSpec'"],
  ['a value of the wrong type', { spec: { ports: [{ port: '80' }] } }, 'port must be integer'],
  ['an invalid value', { spec: { type: 'Public' } }, 'must be equal to one of the allowed values'],
])('a manifest with %s is an error', (_, change, error) => {
  const broken = { ...find('Service'), ...change };
  expect(manifestErrors([broken]).join('\n')).toContain(error);
});

test('kustomization.yaml lists files that exist', () => {
  const { resources } = documents.find(isKustomization) as Manifest & { resources: string[] };
  expect(files).toEqual(expect.arrayContaining(resources));
  expect(resources).toContain('ingress.yaml');
});

test('the Ingress leads to a port of the Service, with TLS for each of its hosts', () => {
  const { spec } = find('Ingress') as Manifest & {
    spec: {
      tls: { hosts: string[] }[];
      rules: { host: string; http: { paths: { backend: { service: object } }[] } }[];
    };
  };
  expect(spec.tls.flatMap(({ hosts }) => hosts)).toEqual(spec.rules.map(({ host }) => host));
  const { metadata, spec: service } = find('Service') as Manifest & {
    spec: { ports: [{ name: string }] };
  };
  const backend = { name: metadata.name, port: { name: service.ports[0].name } };
  for (const { http } of spec.rules) {
    expect(http.paths.map((path) => path.backend.service)).toEqual([backend]);
  }
  // The ingress controller is the only proxy.
  expect(data['TRUST_PROXY']).toBe('1');
});

test('the PodMonitor scrapes the metrics of the replicas as the job of the alerts', () => {
  const { spec } = find('PodMonitor') as Manifest & {
    spec: { podMetricsEndpoints: { port: string; relabelings: object[] }[] };
  };
  expect(spec).toMatchObject({ selector: { matchLabels: template.metadata.labels } });
  const [endpoint] = spec.podMetricsEndpoints;
  const ports = template.spec.containers[0].ports as { name: string }[];
  expect(ports.map(({ name }) => name)).toContain(endpoint?.port);
  const job = 'animal-adoption-store';
  expect(endpoint?.relabelings).toEqual([{ targetLabel: 'job', replacement: job }]);
  expect(readProjectFile('deploy/alerts.yml')).toContain(`job="${job}"`);
});

test.each(['Deployment', 'Job'])(
  'the %s runs without rights and a writable file system',
  (kind) => {
    const pod = (find(kind) as Workload).spec.template.spec;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  },
);

/** Returns the settings with a certificate of this machine. */
function withAuthority({ DATABASE_URL: url = '', ...settings }: Record<string, string>) {
  const authority = join(folder, 'ca.crt');
  return { ...settings, DATABASE_URL: url.replace(/(?<=sslrootcert=)[^&]+/, authority) };
}

test.each(['Deployment', 'Job'])(
  'the %s checks the certificate and the host name of PostgreSQL by the authority in a Secret',
  (kind) => {
    const { containers, volumes } = (find(kind) as Workload).spec.template.spec;
    const { env, volumeMounts } = containers[0];
    const own = env.find((variable) => variable.name === 'DATABASE_URL')?.value;
    const { searchParams } = new URL(own ?? data['DATABASE_URL']!);
    expect(searchParams.get('sslmode')).toBe('verify-full');
    const name = 'database-ca';
    const mountPath = searchParams.get('sslrootcert')!.replace(/\/ca\.crt$/, '');
    expect(volumeMounts).toContainEqual({ name, mountPath, readOnly: true });
    // CloudNativePG creates the Secret CLUSTER-ca.
    const secretName = `${find('Cluster').metadata.name}-ca`;
    const items = [{ key: 'ca.crt', path: 'ca.crt' }];
    expect(volumes).toContainEqual({ name, secret: { secretName, defaultMode: 0o440, items } });
  },
);

test('the settings are valid, and a replica leaves the rotation before it stops', () => {
  const [api] = template.spec.containers;
  const known = new Set<string>();
  new Settings(new Proxy({}, { get: (_, name) => void known.add(String(name)) }));
  const names = [...Object.keys(data), ...api.env.map(({ name }) => name)];
  expect([...known]).toEqual(expect.arrayContaining(names));
  const { database, server, warnings } = new Settings(withAuthority(data));
  expect(warnings).toEqual([]);
  expect(database.migrateOnStart).toBe(false);
  expect(api.ports).toEqual([
    { name: 'http', containerPort: server.port },
    { name: 'metrics', containerPort: server.metricsPort },
  ]);
  const { periodSeconds, failureThreshold } = api.readinessProbe;
  expect(server.shutdownDelayMs).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
  const stopMs = server.shutdownDelayMs + server.shutdownGraceMs;
  expect(template.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(stopMs);
});

test('Service, disruption budget and network policy select the replicas, and no rule admits everyone', () => {
  const { labels } = template.metadata;
  expect(find('Service')).toMatchObject({ spec: { selector: labels } });
  const budget = { spec: { selector: { matchLabels: labels } } };
  expect(find('PodDisruptionBudget')).toMatchObject(budget);
  const { spec: policy } = findPolicy('pets');
  expect(labels).toMatchObject(policy.podSelector.matchLabels);
  expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
  const peers = [...policy.ingress.map(({ from }) => from), ...policy.egress!.map(({ to }) => to)];
  expect(peers.every((peer) => peer?.length === 1)).toBe(true);
});

test('only the replicas, the instances and the operator may connect to the instances of the database', () => {
  const { name } = find('Cluster').metadata;
  const { podSelector, policyTypes, ingress } = findPolicy(name).spec;
  const instances = { matchLabels: { 'cnpg.io/cluster': name } };
  expect({ podSelector, policyTypes }).toEqual({
    podSelector: instances,
    policyTypes: ['Ingress'],
  });
  const { podSelector: replicas } = findPolicy('pets').spec;
  const namespace = { matchLabels: { 'kubernetes.io/metadata.name': 'cnpg-system' } };
  const operator = { matchLabels: { 'app.kubernetes.io/name': 'cloudnative-pg' } };
  const rules = ingress.map(({ from, ports }) => ({ from, ports: ports.map(({ port }) => port) }));
  expect(rules).toEqual([
    { from: [{ podSelector: replicas }], ports: [5432] },
    { from: [{ podSelector: instances }], ports: [5432, 8000] },
    { from: [{ namespaceSelector: namespace, podSelector: operator }], ports: [5432, 8000] },
  ]);
});
