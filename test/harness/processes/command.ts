import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { NODE } from './node.js';
import { closeBeforeDatabases } from '../database/database.js';
import { connectToHost } from '../service/hosted-application.js';
import { type Environment, inheritedEnvironment, PATIENT } from '../service/service.js';

const programIn = (folder: string): string =>
  join(__dirname, '../../../reports', folder, 'src/cli/main.js');

export const PROGRAM = programIn('product');

/** The program with the features of src/, which the tests of the platform do not have. */
export const TEAM_PROGRAM = programIn('team');

/** Who the changes of these tests are recorded for. */
export const OPERATOR = `${userInfo().username}@${hostname()}`;

/**
 * Everything that a command prints on standard error when it succeeds without asking for anything.
 */
export const DATABASE_LINE = /^Database: [^\n]+\n$/;

const FAILURE = /^(?:Database: [^\n]+\n)?([^\n]+)\n$/;
const USAGE_ERROR = /^([^\n]+)\n\nUsage: [^]+\n$/;

/** What a command printed, and its exit code. */
export class Result {
  constructor(
    readonly code: number | null,
    readonly stdout: string,
    readonly stderr: string,
  ) {}

  /** The parsed standard output. Numbers beyond 2^53 are rounded. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into all results
  get json(): any {
    return JSON.parse(this.stdout);
  }
}

/** The ports of hosts that keep applications for commands of this test file. '' is the worker's. */
const keepers = new Set<number | undefined>();

/** Closes the applications that a host keeps, before their databases are dropped. */
async function closeApplications(port: number | undefined): Promise<void> {
  keepers.delete(port);
  const host = connectToHost(port);
  host.write('{}\n');
  await text(host);
}

/** Runs commands as an operator does. */
export class Cli {
  /**
   * @param options `features` of the application, in addition to the store of the tests, or to the team's (`app`);
   *   `isOpenElsewhere` if another process keeps the embedded database open, so that no server has to be started
   * @param host that runs the commands, instead of that of this worker
   */
  constructor(
    readonly env: Environment = {},
    private readonly options: {
      app?: true;
      features?: readonly string[];
      isOpenElsewhere?: true;
    } = {},
    readonly program = PROGRAM,
    private readonly host?: { readonly port: number },
  ) {}

  /** @param database may be created later, by a hook */
  static on(database: { readonly url: string }, options?: { app: true }): Cli {
    const env = {
      get DATABASE_URL() {
        return database.url;
      },
    };
    return new Cli(env, options);
  }

  /** Starts a command in a process of its own. */
  start(...args: string[]): ChildProcessByStdio<null, Readable, Readable> {
    const [node, ...options] = NODE;
    return spawn(node, [...options, this.program, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inheritedEnvironment(), ...PATIENT, ...this.env },
    });
  }

  /** Runs a command. With an embedded database, in a process of its own if it may have to start a server. */
  run(...args: string[]): Promise<Result> {
    return this.env['DATA_DIR'] === undefined || this.options.isOpenElsewhere
      ? this.runInHost(...args)
      : resultOf(this.start(...args));
  }

  /** Runs a command that starts no server in a host, which has loaded the code. */
  async runInHost(...args: string[]): Promise<Result> {
    const port = this.host?.port;
    if (!keepers.has(port)) closeBeforeDatabases(() => closeApplications(port));
    keepers.add(port);
    const host = connectToHost(port);
    const env = { ...inheritedEnvironment(), ...PATIENT, ...this.env };
    const start = { app: false, features: [], ...this.options, command: args, env };
    host.write(`${JSON.stringify(start)}\n`);
    const { code, stdout, stderr } = JSON.parse(await text(host)) as Result;
    return new Result(code, stdout, stderr);
  }

  /**
   * Runs a command that has to succeed and to print nothing but its result and the database.
   * Returns its parsed JSON.
   */
  async json(...args: string[]): Promise<Result['json']> {
    const result = await this.run(...args, '--json');
    expect(result).toMatchObject({ code: 0, stderr: expect.stringMatching(DATABASE_LINE) });
    expect(result.stdout).toMatch(/^[^\n]+\n$/);
    return result.json;
  }

  /**
   * Runs a command that has to fail with one line, after the one that names the database, and before the
   * help of the command if its usage is incorrect. Returns the line.
   */
  async failure(code: 1 | 2, ...args: string[]): Promise<string> {
    const result = await this.run(...args);
    expect(result).toMatchObject({ code, stdout: '' });
    const form = code === 2 ? USAGE_ERROR : FAILURE;
    const [, line] = form.exec(result.stderr) ?? [];
    expect({ stderr: result.stderr, line }).toMatchObject({ line: expect.any(String) });
    return line!;
  }
}

export async function resultOf(
  child: ChildProcessByStdio<Writable | null, Readable, Readable>,
): Promise<Result> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return new Result(code, stdout, stderr);
}
