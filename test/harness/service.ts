import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createDatabase, type TestDatabase } from './database.js';

/** When the clock of a test's service stands, unless the test says otherwise. */
export const START_MS = Date.parse('2027-03-01T12:00:00.000Z');

export type Environment = Record<string, string>;

/** A line of the service's log. */
export type LogLine = Record<string, unknown> & { msg?: string };

/** The built application in a process of its own, with a clock that stands until it is moved. */
export interface TestService {
  readonly port: number;
  readonly url: string;
  readonly database: TestDatabase;
  readonly process: ChildProcess;
  /** The service's time, in milliseconds since the epoch. */
  nowMs(): number;
  setClock(nowMs: number): Promise<void>;
  /** Moves the clock on. */
  advance(ms: number): Promise<void>;
  /** What the process has printed so far. */
  output(): string;
  logs(): LogLine[];
  /** Returns the first log line, already written or to come, that the condition holds for. */
  waitForLog(condition: (line: LogLine) => boolean): Promise<LogLine>;
  close(): Promise<void>;
}

interface ServiceOptions {
  env?: Environment;
  nowMs?: number;
  /** A database to share; by default a new one, dropped with the service. */
  database?: TestDatabase;
  /** Path of a module whose default export lists Nest modules to add. */
  features?: string;
}

/** Starts the built application on a database of its own. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const database = options.database ?? (await createDatabase());
  let nowMs = options.nowMs ?? START_MS;
  const child = fork(join(__dirname, 'service-process.mjs'), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...inheritedEnvironment(),
      PORT: '0',
      DATABASE_URL: database.url,
      TEST_NOW_MS: String(nowMs),
      ...(options.features && { TEST_FEATURES: options.features }),
      ...options.env,
    },
  });
  const output = collectOutput(child);
  const started = once(child, 'message') as Promise<[{ port: number }]>;
  const [{ port }] = await Promise.race([started, failOnExit(child, output)]);

  const setClock = async (ms: number): Promise<void> => {
    nowMs = ms;
    const set = once(child, 'message');
    child.send({ nowMs });
    await set;
  };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    database,
    process: child,
    nowMs: () => nowMs,
    setClock,
    advance: (ms) => setClock(nowMs + ms),
    output: () => output.text,
    logs: () => logLines(output.text),
    waitForLog: (condition) => waitForLog(output, condition),
    close: async () => {
      await stop(child);
      if (!options.database) await database.close();
    },
  };
}

/** `dist/main.js` in a process of its own, as an operator starts it. */
export interface BuiltProcess {
  readonly process: ChildProcess;
  output(): string;
  logs(): LogLine[];
  waitForLog(condition: (line: LogLine) => boolean): Promise<LogLine>;
  /** Sends a signal and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** The service as an operator starts it, listening. */
export interface BuiltService extends BuiltProcess {
  readonly url: string;
}

/** Starts `dist/main.js`. @param command what to put before, such as faketime */
export function spawnBuiltService(env: Environment, command: readonly string[] = []): BuiltProcess {
  const [file, ...args] = [...command, process.execPath, join(__dirname, '../../dist/main.js')];
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inheritedEnvironment(), PORT: '0', METRICS_PORT: '', ...env },
  });
  const output = collectOutput(child);
  return {
    process: child,
    output: () => output.text,
    logs: () => logLines(output.text),
    waitForLog: (condition) =>
      Promise.race([waitForLog(output, condition), failOnExit(child, output)]),
    stop: (signal) => stop(child, signal),
  };
}

/** Starts `dist/main.js` and waits until it listens. @param command what to put before, such as faketime */
export async function startBuiltService(
  env: Environment,
  command: readonly string[] = [],
): Promise<BuiltService> {
  const service = spawnBuiltService(env, command);
  const { address } = await service.waitForLog(({ msg }) => msg === 'listening');
  return { ...service, url: String(address) };
}

/** The environment without what would change the service. */
export function inheritedEnvironment(): Environment {
  const { PATH = '', HOME = '/', TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }) };
}

interface Output {
  text: string;
  onChange: Set<() => void>;
}

function collectOutput(child: ChildProcess): Output {
  const output: Output = { text: '', onChange: new Set() };
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      output.text += `${line}\n`;
      for (const notify of output.onChange) notify();
    });
  }
  return output;
}

function logLines(text: string): LogLine[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);
}

function waitForLog(output: Output, condition: (line: LogLine) => boolean): Promise<LogLine> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      output.onChange.delete(look);
      reject(new Error(`no such log line in:\n${output.text}`));
    }, 10_000);
    const look = (): void => {
      const line = logLines(output.text).find(condition);
      if (!line) return;
      clearTimeout(timer);
      output.onChange.delete(look);
      resolve(line);
    };
    output.onChange.add(look);
    look();
  });
}

async function failOnExit(child: ChildProcess, output: Output): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number | null];
  throw new Error(`the service ended with ${code}:\n${output.text}`);
}

async function stop(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
  return child.exitCode;
}
