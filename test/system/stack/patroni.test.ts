import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { findHaproxy } from '../../harness/processes/haproxy.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';

const FOLDER = 'deploy/patroni';
const haproxy = process.platform === 'linux' ? findHaproxy() : undefined;

(haproxy ? test : test.skip)('HAProxy accepts deploy/patroni/haproxy-primary.cfg', () => {
  const file = join(__dirname, '../../..', FOLDER, 'haproxy-primary.cfg');
  const { status, stderr } = spawnSync(haproxy!, ['-c', '-f', file], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('a leader keeps its role while etcd does not respond for as long as Patroni retries', () => {
  interface Patroni {
    bootstrap: { dcs: { ttl: number; loop_wait: number; retry_timeout: number } };
  }
  const { dcs } = (load(readProjectFile(`${FOLDER}/patroni.yml`)) as Patroni).bootstrap;
  expect(dcs.ttl).toBeGreaterThanOrEqual(dcs.loop_wait + 2 * dcs.retry_timeout);
});
