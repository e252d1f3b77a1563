import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { createFolder } from '../cluster/create-folder.js';
import { EmbeddedDatabaseError } from '../embedded-database-error.js';
import { type LibraryLink, linkLibraries } from './private-installation.js';
import { createTemporary } from '../cluster/temporary-folder.js';

/**
 * Copies the binaries for the server's user, who may not be able to read node_modules. A link does
 * not work, because PostgreSQL resolves its own path. All services of the machine share the copy of
 * a version (61 MB). Unused copies of other versions are removed.
 *
 * @param native the folder with bin, lib and share
 * @returns the folder of the copy
 * @throws EmbeddedDatabaseError if the copy cannot be created
 */
export function copyForOthers(
  native: string,
  sharedFolder: string,
  version: string,
  links: readonly LibraryLink[],
): string {
  const folder = join(sharedFolder, `postgres-${version}`);
  try {
    if (!existsSync(sharedFolder)) {
      createFolder(sharedFolder);
      chmodSync(sharedFolder, 0o755);
    }
    requireRoots(sharedFolder);
    if (!existsSync(folder)) {
      createCopy(native, folder, links);
      removeOthers(sharedFolder, folder);
    }
    requireRoots(folder);
    return folder;
  } catch (cause) {
    if (cause instanceof EmbeddedDatabaseError) throw cause;
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root, and its programs cannot be copied for another user (${(cause as Error).message})`,
      `make ${sharedFolder} writable for root, start the service as an ordinary user`,
      { cause },
    );
  }
}

/** Other users could replace the programs in a folder that they may write to. */
function requireRoots(folder: string): void {
  const stats = lstatSync(folder);
  if (stats.isDirectory() && stats.uid === 0 && (stats.mode & 0o022) === 0) return;
  throw new EmbeddedDatabaseError(
    `${folder}, for PostgreSQL's programs, is not a folder that only root may write to`,
    'remove it',
  );
}

function createCopy(native: string, folder: string, links: readonly LibraryLink[]): void {
  const created = createTemporary(folder);
  try {
    copyTree(native, created);
    linkLibraries(join(created, 'lib'), links);
    synchronize(created);
    renameSync(created, folder);
  } catch (error) {
    // Another process has created it in the meantime.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(created, { recursive: true, force: true });
  }
}

/** Without this, the copy could have empty files after a power cut. */
function synchronize(folder: string): void {
  // Faster than after each file.
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = openSync(join(entry.parentPath, entry.name), 'r');
    fsyncSync(file);
    closeSync(file);
  }
}

function copyTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  chmodSync(to, 0o755);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      copyTree(source, target);
    } else if (entry.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target);
    } else {
      copyFileSync(source, target, constants.COPYFILE_FICLONE);
      // As with umask 022.
      chmodSync(target, lstatSync(source).mode & 0o100 ? 0o755 : 0o644);
    }
  }
}

/** Removes the copies of other versions that no process runs from. */
function removeOthers(sharedFolder: string, used: string): void {
  const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const programs = running.map((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/exe`);
    } catch {
      return '';
    }
  });
  for (const name of readdirSync(sharedFolder)) {
    const copy = join(sharedFolder, name);
    const isOther = /^postgres-[^/]+$/.test(name) && !name.includes('.new-') && copy !== used;
    if (!isOther || programs.some((program) => program.startsWith(`${copy}/`))) continue;
    rmSync(copy, { recursive: true, force: true });
  }
}
