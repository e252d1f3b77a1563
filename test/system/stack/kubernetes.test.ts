import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { Settings } from '../../../src/platform/config/settings.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';
import { type Manifest, manifestErrors } from '../../harness/stack/kubernetes-types.js';

const FOLDER = 'deploy/kubernetes';

interface Probe {
  httpGet: { path: string; port: string };
}

interface Container {
  image: string;
  command?: string[];
  env: { name: string; value: string }[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  readinessProbe: Probe & { periodSeconds: number; failureThreshold: number };
  livenessProbe: Probe;
  securityContext: object;
  volumeMounts: { name: string; mountPath: string }[];
}

interface Workload extends Manifest {
  spec: {
    selector: { matchLabels: Record<string, string> };
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds: number;
        securityContext: object;
        containers: [Container];
        volumes: { name: string; secret: { secretName: string; items: { path: string }[] } }[];
      };
    };
  };
}

interface NetworkPolicySpec {
  podSelector: { matchLabels: Record<string, string> };
  policyTypes: string[];
  ingress: object[];
  egress: { to: object[]; ports: { port: number | string; protocol: string }[] }[];
}

/** The rule for all pods of a namespace. */
const namespace = (name: string): object => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
});

const files = readdirSync(join(__dirname, '../../..', FOLDER)).filter((file) =>
  file.endsWith('.yaml'),
);
const manifests = files
  .filter((file) => file !== 'kustomization.yaml')
  .flatMap((file) => loadAll(readProjectFile(`${FOLDER}/${file}`)) as Manifest[]);
const find = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind)!;

const deployment = find('Deployment') as Workload;
const job = find('Job') as Workload;
const { data } = find('ConfigMap') as Manifest & { data: Record<string, string> };
const pod = deployment.spec.template.spec;
const [api] = pod.containers;
const dockerfile = readProjectFile('Dockerfile');

test('each manifest matches the types of the Kubernetes API, without unknown members', () => {
  expect(manifests.map(({ kind }) => kind).sort()).toEqual([
    'ConfigMap',
    'Deployment',
    'HorizontalPodAutoscaler',
    'Job',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
  ]);
  expect(manifestErrors(manifests)).toEqual([]);
});

test('the comparison with the API finds an unknown member and a wrong type', () => {
  const typo = { ...find('Service'), spec: { port: 80 } };
  expect(manifestErrors([typo]).join()).toContain("does not exist in type 'ServiceSpec'");
  const wrong = { ...find('PodDisruptionBudget'), spec: { maxUnavailable: true } };
  expect(manifestErrors([wrong]).join()).toContain('not assignable');
});

test('kustomization.yaml has every manifest except the Job, and the image and version of the Job', () => {
  const { resources, images } = load(readProjectFile(`${FOLDER}/kustomization.yaml`)) as {
    resources: string[];
    images: { name: string; newTag: string }[];
  };
  expect([...resources, 'kustomization.yaml', 'migrate.yaml'].sort()).toEqual(files);
  const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
  expect(images).toEqual([{ name: api.image, newTag: version }]);
  expect(job.spec.template.spec.containers[0].image).toBe(`${api.image}:${version}`);
});

test.each([
  ['Deployment', deployment],
  ['Job', job],
])(
  '%s: runs as the user of the image, without rights and a writable file system',
  (_, workload) => {
    const { securityContext, containers } = workload.spec.template.spec;
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      fsGroup: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  },
);

test.each([
  ['Deployment', deployment],
  ['Job', job],
])(
  '%s: reads each secret from a mounted file, and only the secrets that it needs',
  (_, workload) => {
    const { containers, volumes } = workload.spec.template.spec;
    const [{ env, volumeMounts }] = containers;
    const [volume] = volumes;
    expect(volumeMounts).toEqual([
      { name: volume?.name, mountPath: '/run/secrets/pets', readOnly: true },
    ]);
    const read = env.filter(({ name }) => name.endsWith('_FILE')).map(({ value }) => value);
    const mounted = volume?.secret.items.map(({ path }) => `/run/secrets/pets/${path}`);
    expect(read.sort()).toEqual(mounted?.sort());
    expect(JSON.stringify(env)).not.toMatch(/:\/\/\w+:\w+@/);
  },
);

test('the settings are valid, and every variable is a setting', () => {
  const known = new Set<string>();
  const recorder = new Proxy({}, { get: (_, name) => void known.add(String(name)) });
  expect(new Settings(recorder).server).toMatchObject({ port: 3000 });
  const names = [...Object.keys(data), ...api.env.map(({ name }) => name)];
  expect([...known]).toEqual(expect.arrayContaining(names));
  const { database, server } = new Settings(data);
  expect(database).toMatchObject({ migrateOnStart: false, url: expect.stringContaining('@') });
  // Not ready and removed from the load balancers while the replica still accepts requests.
  const { periodSeconds, failureThreshold } = api.readinessProbe;
  expect(server.shutdownDelayMs).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
  const stopMs = server.shutdownDelayMs + server.shutdownGraceMs;
  expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(stopMs);
});

test('only the ingress controller reaches the API, and only Prometheus reaches the metrics', () => {
  const { spec } = find('NetworkPolicy') as Manifest & { spec: NetworkPolicySpec };
  const selected = spec.podSelector.matchLabels;
  for (const { spec: workload } of [deployment, job]) {
    expect(workload.template.metadata.labels).toMatchObject(selected);
  }
  expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
  // A rule without `from` or `to` would apply to everyone.
  expect(spec.ingress).toEqual([
    { from: [namespace('ingress-nginx')], ports: [{ port: api.ports[0]?.name, protocol: 'TCP' }] },
    { from: [namespace('monitoring')], ports: [{ port: api.ports[1]?.name, protocol: 'TCP' }] },
  ]);
  const egress = spec.egress.flatMap(({ to, ports }) =>
    ports.map(({ port, protocol }) => [to.length, protocol, port]),
  );
  expect(egress).toEqual([
    [1, 'TCP', Number(new URL(data['DATABASE_URL'] ?? '').port)],
    [1, 'TCP', 6379],
    [1, 'UDP', 53],
    [1, 'TCP', 53],
  ]);
});

test('probes, Service, autoscaler and disruption budget lead to the replicas', () => {
  const { port, metricsPort } = new Settings(data).server;
  expect(api.ports).toEqual([
    { name: 'http', containerPort: port },
    { name: 'metrics', containerPort: metricsPort },
  ]);
  const path = (probe: Probe): string => `${probe.httpGet.port} ${probe.httpGet.path}`;
  expect([api.startupProbe, api.readinessProbe, api.livenessProbe].map(path)).toEqual([
    'http /health/live',
    'http /health/ready',
    'http /health/live',
  ]);
  const { labels } = deployment.spec.template.metadata;
  expect(deployment.spec.selector.matchLabels).toEqual(labels);
  expect(find('PodDisruptionBudget')).toMatchObject({
    spec: { selector: { matchLabels: labels } },
  });
  expect(find('Service')).toMatchObject({ spec: { selector: labels } });
  expect(find('HorizontalPodAutoscaler')).toMatchObject({
    spec: { scaleTargetRef: { kind: 'Deployment', name: deployment.metadata.name } },
  });
  expect(job.spec.template.metadata.labels).not.toEqual(labels);
});
