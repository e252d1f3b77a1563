import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NODE } from '../processes/node.js';
import { closeBeforeDatabases, createDatabase, type TestDatabase } from '../database/database.js';
import { expectNothingHeld, scrape } from './metrics.js';
import { HostedApplication } from './hosted-application.js';
import {
  addOutput,
  expectNoKey,
  logLines,
  newOutput,
  type LogLine,
  type Output,
  waitForLog,
} from './output.js';

export type { LogLine };

/** When the clock of a test's service stands, unless the test says otherwise. */
export const START_MS = Date.parse('2027-03-01T12:00:00.000Z');

export type Environment = Record<string, string>;

/**
 * Time limits that a busy machine stays below. A test of one of these limits sets it to a lower value, and
 * lets something reach it that never ends.
 */
export const PATIENT: Environment = {
  HEADERS_TIMEOUT_SECONDS: '60',
  REQUEST_TIMEOUT_SECONDS: '120',
  READINESS_TIMEOUT_SECONDS: '3',
  // The service opens all connections at its start, and PostgreSQL starts a process for each.
  DATABASE_POOL_SIZE: '2',
  DATABASE_POOL_WAIT_SECONDS: '15',
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '15',
  DATABASE_LOCK_TIMEOUT_SECONDS: '15',
  REDIS_COMMAND_TIMEOUT_SECONDS: '1',
};

/** Settings with which many requests at once are not shed. */
export const UNBOUNDED: Environment = {
  MAX_REQUESTS_IN_PROGRESS: '100000',
  MAX_UNAUTHENTICATED_REQUESTS: '100000',
  DATABASE_QUEUE_SIZE: '100000',
};

/** The built application, with a clock that stands until it is moved. */
export interface TestService {
  readonly port: number;
  readonly url: string;
  readonly database: TestDatabase;
  /** The service's time, in milliseconds since the epoch. */
  nowMs(): number;
  /** Time passes if the clock moves forward. Moving it back sets the wall clock only. */
  setClock(nowMs: number): Promise<void>;
  advance(ms: number): Promise<void>;
  /** Calls a method of a provider, such as `LastUsed.write`, as its schedule would. @throws Error with that of the method */
  runJob(name: string): Promise<void>;
  output(): string;
  logs(): LogLine[];
  /** Returns the first log line, already written or to come, that the condition holds for. */
  waitForLog(condition: (line: LogLine) => boolean): Promise<LogLine>;
  metrics(): Promise<string>;
  /** @throws Error when the service holds something although no request is in progress */
  close(): Promise<void>;
}

interface ServiceOptions {
  env?: Environment;
  nowMs?: number;
  /** A database to share; by default a new one, dropped with the service. */
  database?: TestDatabase;
  /**
   * Whether the application has AppModule instead of the store of the platform's tests. It prints the cause of
   * a 500. The path of a file: that of its AppModule.
   */
  app?: boolean | string;
  /** Paths of modules whose default exports list Nest modules to add. */
  features?: string | readonly string[];
}

/** Starts the built application on a database of its own. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const database = options.database ?? (await createDatabase());
  let nowMs = options.nowMs ?? START_MS;
  const closeDatabase = async (): Promise<void> => {
    if (!options.database) await database.close();
  };
  const application = await HostedApplication.start({
    env: { ...PATIENT, PORT: '0', DATABASE_URL: database.url, ...options.env },
    nowMs,
    app: options.app ?? false,
    features: [options.features ?? []].flat(),
  }).catch(async (error: unknown) => {
    await closeDatabase();
    throw error;
  });
  const { port, output } = application;
  closeBeforeDatabases(() => application.close());
  const setClock = async (ms: number): Promise<void> => {
    nowMs = ms;
    await application.setClock(ms);
  };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    database,
    nowMs: () => nowMs,
    setClock,
    advance: (ms) => setClock(nowMs + ms),
    runJob: (name) => application.runJob(name),
    output: () => output.text,
    logs: () => logLines(output.text),
    waitForLog: (condition) => waitForLog(output, condition),
    metrics: () => application.metrics(),
    close: async () => {
      await application.close();
      await closeDatabase();
    },
  };
}

/** `dist/main.js` in a process of its own, as an operator starts it. */
export interface BuiltProcess {
  readonly process: ChildProcess;
  output(): string;
  logs(): LogLine[];
  waitForLog(condition: (line: LogLine) => boolean): Promise<LogLine>;
  metrics(): Promise<string>;
  /** Sends a signal and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface BuiltService extends BuiltProcess {
  readonly url: string;
}

const MAIN = join(__dirname, '../../../reports/product/src/main.js');
/** The build as it is, with the features of src/. */
export const ENDLESS_FEATURES = join(
  __dirname,
  '../../../reports/product/test/harness/programs/endless-features.js',
);
export const TEAM_MAIN = join(__dirname, '../../../reports/team/src/main.js');

/**
 * Starts `dist/main.js`.
 *
 * @param main the same file of a copy of the project
 * @param command runs a script with Node, by default without source maps, which make each start slower
 */
export function spawnBuiltService(
  env: Environment,
  main = MAIN,
  command: readonly string[] = NODE,
): BuiltProcess {
  const [program = '', ...options] = command;
  const child = spawn(program, [...options, main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inheritedEnvironment(), ...PATIENT, PORT: '0', METRICS_PORT: '0', ...env },
  });
  const output = collectOutput(child);
  const service: BuiltProcess = {
    process: child,
    output: () => output.text,
    logs: () => logLines(output.text),
    waitForLog: (condition) =>
      Promise.race([waitForLog(output, condition), failOnExit(child, output)]),
    metrics: () => scrape(logLines(output.text)),
    stop: async (signal) => {
      const listening = logLines(output.text).find(({ msg }) => msg === 'listening');
      if (listening && isRunning(child) && signal === undefined) {
        const port = Number(new URL(String(listening['address'])).port);
        await expectNothingHeld(port, () => scrape(logLines(output.text)));
      }
      const code = await stop(child, signal);
      expectNoKey(output);
      return code;
    },
  };
  closeBeforeDatabases(() => service.stop());
  return service;
}

/** Starts `dist/main.js` and waits until it listens. */
export async function startBuiltService(
  env: Environment,
  main = MAIN,
  command?: readonly string[],
): Promise<BuiltService> {
  const service = spawnBuiltService(env, main, command);
  const { address } = await service.waitForLog(({ msg }) => msg === 'listening');
  return { ...service, url: String(address) };
}

/** The environment without what would change the service. */
export function inheritedEnvironment(): Environment {
  const { PATH = '', HOME = '/', TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }) };
}

function collectOutput(child: ChildProcess): Output {
  const output = newOutput();
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', (line) => addOutput(output, line));
  }
  return output;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

async function failOnExit(child: ChildProcess, output: Output): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number | null];
  throw new Error(`the service ended with ${code}:\n${output.text}`);
}

async function stop(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<number | null> {
  if (isRunning(child)) {
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
  return child.exitCode;
}
