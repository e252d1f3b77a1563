import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import {
  existsSync,
  lchownSync,
  lstatSync,
  readdirSync,
  realpathSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { childEnvironment } from './child-environment.js';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import type { ServerFiles } from './server-files.js';

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** "nobody", by number, since not every system has it by name. */
const UNPRIVILEGED: ServerUser = { uid: 65534, gid: 65534 };

/** PostgreSQL refuses to run as root: then who runs it. Null: we do. */
export function chooseServerUser(files: ServerFiles): ServerUser | null {
  if (process.getuid?.() !== 0) return null;
  for (const folder of [files.cluster, files.dataDir]) {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats !== undefined && stats.uid !== 0) return { uid: stats.uid, gid: stats.gid };
  }
  return UNPRIVILEGED;
}

/**
 * Hands a file, or a folder's whole tree, to the server's user.
 * @throws EmbeddedDatabaseError when root may not, as in some containers
 */
export function giveToServerUser(path: string, user: ServerUser | null): void {
  if (user === null || lstatSync(path).uid === user.uid) return;
  const isFolder = lstatSync(path).isDirectory();
  const contents = isFolder ? readdirSync(path, { withFileTypes: true, recursive: true }) : [];
  try {
    for (const entry of contents)
      lchownSync(join(entry.parentPath, entry.name), user.uid, user.gid);
    // Last, so that an interrupted hand-over is begun again.
    lchownSync(path, user.uid, user.gid);
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root, and this root may not give ${path} to user ${user.uid}`,
      'start the service as an ordinary user',
      { cause },
    );
  }
}

/**
 * Starts a program as the server's user.
 * @param needed folders and programs that it reads. Where the user may not (root's checkout in
 *   /root), the program gets the one capability that lets it pass, by util-linux's setpriv.
 * @throws EmbeddedDatabaseError when there is no setpriv
 */
export function spawnAsServerUser(
  user: ServerUser | null,
  needed: readonly string[],
  program: string,
  args: readonly string[],
  options: { stdio: StdioOptions; detached: boolean },
): ChildProcess {
  const common = { ...options, cwd: dirname(program), env: childEnvironment(), windowsHide: true };
  if (user === null) return spawn(program, args, common);
  if (needed.every((path) => mayEnter(path, user)))
    return spawn(program, args, { ...common, ...user });
  if (spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status !== 0) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root, and user ${user.uid} may not enter ${needed.find((path) => !mayEnter(path, user))}`,
      'let it (chmod o+x on the folders above), install setpriv (util-linux)',
    );
  }
  return spawn('setpriv', [...passEverywhere(user), '--', program, ...args], common);
}

/**
 * no_setuid_fixup: access(2) goes by the real user, and would drop the capability for anyone but
 * root.
 */
function passEverywhere({ uid, gid }: ServerUser): string[] {
  const capability = '+dac_override';
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    `--inh-caps=${capability}`,
    `--ambient-caps=${capability}`,
    `--bounding-set=-all,${capability}`,
    '--securebits=+no_setuid_fixup',
  ];
}

/** Why a program could not be run. */
export function describeSpawnError(error: NodeJS.ErrnoException, program: string): string {
  // What the kernel does not find is then the loader that the program names.
  const lacksLoader = error.code === 'ENOENT' && existsSync(program);
  return lacksLoader
    ? `${program} needs the GNU C library, which this system lacks`
    : error.message;
}

/** By mode bits; where an access list says otherwise, the worst is a setpriv too many. */
function mayEnter(path: string, user: ServerUser): boolean {
  const real = realpathSync(path);
  if (!allows(statSync(real), user, 0o5)) return false;
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if (!allows(statSync(folder), user, 0o1)) return false;
    if (folder === dirname(folder)) return true;
  }
}

function allows(stats: Stats, user: ServerUser, bits: number): boolean {
  const shift = stats.uid === user.uid ? 6 : stats.gid === user.gid ? 3 : 0;
  return ((stats.mode >> shift) & bits) === bits;
}
