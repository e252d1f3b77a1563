import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dump, load } from 'js-yaml';
import { inheritedEnvironment } from '../service/service.js';
import { readProjectFile } from '../stack/compose-file.js';
import { freePort } from './free-port.js';

const DEPLOY = join(__dirname, '../../../deploy');
const START_LIMIT_MS = 20_000;

/** A result of an instant query: the labels and the value. */
export interface Sample {
  metric: Record<string, string>;
  value: [seconds: number, value: string];
}

/** A running Prometheus. */
export interface Prometheus {
  /** Returns `data` of a response of the HTTP API. */
  get<Data>(path: string, parameters?: Record<string, string>): Promise<Data>;
  query(expr: string): Promise<Sample[]>;
  stop(): Promise<void>;
}

/** Whether Prometheus is installed. Prints how to install it if it is not. */
export function hasPrometheus(): boolean {
  const isInstalled = spawnSync('prometheus', ['--version']).status === 0;
  if (!isInstalled) {
    console.warn(
      'To test the dashboard on real data, install prometheus (apt-get install --no-install-recommends prometheus).',
    );
  }
  return isInstalled;
}

/**
 * Starts Prometheus with deploy/prometheus.yml and deploy/alerts.yml. It scrapes one replica every
 * half second.
 *
 * @param target host and port of the metrics listener
 * @param runbooks the value of RUNBOOKS_URL
 */
export async function startPrometheus(target: string, runbooks: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'pets-prometheus-'));
  const port = await freePort();
  const config = load(readProjectFile('deploy/prometheus.yml')) as {
    global: object;
    scrape_configs: { job_name: string }[];
  };
  writeFileSync(
    join(folder, 'prometheus.yml'),
    dump({
      global: { ...config.global, scrape_interval: '500ms', evaluation_interval: '500ms' },
      rule_files: [join(DEPLOY, 'alerts.yml')],
      scrape_configs: config.scrape_configs.map(({ job_name }) => ({
        job_name,
        static_configs: [{ targets: [target] }],
      })),
    }),
  );
  const version = spawnSync('prometheus', ['--version'], { encoding: 'utf8' }).stdout;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      // Always enabled since version 3.
      ...(version.includes('version 2.') ? ['--enable-feature=expand-external-labels'] : []),
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...inheritedEnvironment(), RUNBOOKS_URL: runbooks },
    },
  );
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const get = async <Data>(path: string, parameters = {}): Promise<Data> => {
    const query = new URLSearchParams(parameters);
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${query.toString()}`);
    const body = (await response.json()) as { data: Data; error?: string };
    if (!response.ok) throw new Error(`${path}: ${body.error}`);
    return body.data;
  };
  const query = async (expr: string): Promise<Sample[]> =>
    (await get<{ result: Sample[] }>('query', { query: expr })).result;
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    }
    rmSync(folder, { recursive: true });
  };
  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    const samples = await query('count_over_time(up[1m]) >= 5').catch(() => []);
    if (samples.length > 0) return { get, query, stop };
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`Prometheus does not scrape the replica:\n${output}`);
    }
    await sleep(100);
  }
}
