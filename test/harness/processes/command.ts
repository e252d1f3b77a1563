import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { run } from '../../../src/cli/run.js';
import { type Environment, inheritedEnvironment } from '../service/service.js';

export const PROGRAM = join(__dirname, '../../../dist/cli/main.js');

/** Who the changes of these tests are recorded for. */
export const OPERATOR = `${userInfo().username}@${hostname()}`;

/**
 * Everything that a command prints on standard error when it succeeds without asking for anything.
 */
export const DATABASE_LINE = /^Database: [^\n]+\n$/;

/** What a command left when it had ended. */
export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
  /** The parsed standard output; numbers beyond 2^53 are rounded. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into whatever came
  readonly json: any;
}

/** Runs commands as an operator does, each in a process of its own. */
export class Cli {
  constructor(readonly env: Environment) {}

  start(...args: string[]): ChildProcessByStdio<null, Readable, Readable> {
    return spawn(process.execPath, [PROGRAM, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inheritedEnvironment(), ...this.env },
    });
  }

  run(...args: string[]): Promise<Result> {
    return resultOf(this.start(...args));
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
   * Runs a command that has to fail with one line, after the one that names the database. Returns
   * the line.
   */
  async failure(code: 1 | 2, ...args: string[]): Promise<string> {
    const result = await this.run(...args);
    expect(result).toMatchObject({ code, stdout: '' });
    const [, line] = /^(?:Database: [^\n]+\n)?([^\n]+)\n$/.exec(result.stderr) ?? [];
    expect({ stderr: result.stderr, line }).toMatchObject({ line: expect.any(String) });
    return line!;
  }
}

/**
 * Runs a command in this process, for output that needs no database: a process for
 * each of many wrong usages would take longer than all else.
 */
export async function runHere(...args: string[]): Promise<Omit<Result, 'json'>> {
  let stdout = '';
  let stderr = '';
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      stdout += String(text);
      return true;
    }),
    jest.spyOn(console, 'error').mockImplementation((text) => {
      stderr += `${String(text)}\n`;
    }),
  ];
  try {
    const code = await run(args, '0.0.0');
    return { code, stdout, stderr };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Waits for the end of a command. */
export async function resultOf(
  child: ChildProcessByStdio<null, Readable, Readable>,
): Promise<Result> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return {
    code,
    stdout,
    stderr,
    get json() {
      return JSON.parse(stdout) as unknown;
    },
  };
}
