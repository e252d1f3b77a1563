import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { Settings } from '../../../src/platform/config/settings.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';
import { type Manifest, manifestErrors } from '../../harness/stack/kubernetes-types.js';

const FOLDER = 'deploy/kubernetes';

interface Workload extends Manifest {
  spec: {
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds: number;
        securityContext: object;
        containers: [
          {
            env: { name: string }[];
            ports: object[];
            readinessProbe: { periodSeconds: number; failureThreshold: number };
            securityContext: object;
          },
        ];
      };
    };
  };
}

const manifests = readdirSync(join(__dirname, '../../..', FOLDER))
  .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
  .flatMap((file) => loadAll(readProjectFile(`${FOLDER}/${file}`)) as Manifest[]);
const find = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind)!;

const { template } = (find('Deployment') as Workload).spec;
const { data } = find('ConfigMap') as Manifest & { data: Record<string, string> };

test('each manifest matches the types of the Kubernetes API, without unknown members', () => {
  expect(manifests.map(({ kind }) => kind)).toContain('NetworkPolicy');
  expect(manifestErrors(manifests)).toEqual([]);
  const typo = { ...find('Service'), spec: { port: 80 } };
  expect(manifestErrors([typo]).join()).toContain("does not exist in type 'ServiceSpec'");
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

test('the settings are valid, and a replica leaves the rotation before it stops', () => {
  const [api] = template.spec.containers;
  const known = new Set<string>();
  new Settings(new Proxy({}, { get: (_, name) => void known.add(String(name)) }));
  const names = [...Object.keys(data), ...api.env.map(({ name }) => name)];
  expect([...known]).toEqual(expect.arrayContaining(names));
  const { database, server } = new Settings(data);
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
  const { spec: policy } = find('NetworkPolicy') as Manifest & {
    spec: {
      podSelector: { matchLabels: object };
      policyTypes: string[];
      ingress: { from?: object[] }[];
      egress: { to?: object[] }[];
    };
  };
  expect(labels).toMatchObject(policy.podSelector.matchLabels);
  expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
  const peers = [...policy.ingress.map(({ from }) => from), ...policy.egress.map(({ to }) => to)];
  expect(peers.every((peer) => peer?.length === 1)).toBe(true);
});
