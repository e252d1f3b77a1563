import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The name by which the loader finds a library. npm packages cannot contain symbolic links. */
export interface LibraryLink {
  readonly name: string;
  readonly target: string;
}

/** Creates the links that are missing. @throws the system's error */
export function linkLibraries(lib: string, links: readonly LibraryLink[]): void {
  for (const { name, target } of links) {
    const link = join(lib, name);
    try {
      if (!existsSync(link)) symlinkSync(target, link);
    } catch (error) {
      // Another process may have created it in the meantime.
      if (!existsSync(link)) throw error;
    }
  }
}

/**
 * Creates an installation in `folder`. Programs are copied, because they look for lib and share
 * relative to their real path. Everything else is linked. The folder appears when it is complete.
 *
 * @param links that the package lacks
 * @param replaceUser Linux: makes initdb work for a user without an entry in /etc/passwd
 */
export function installPrivately(
  native: string,
  folder: string,
  { links = [], replaceUser = false }: { links?: LibraryLink[]; replaceUser?: boolean },
): void {
  if (existsSync(folder)) return;
  const created = mkdtempSync(`${folder}.new-`);
  chmodSync(created, 0o755);
  mkdirSync(join(created, 'bin'));
  for (const name of readdirSync(join(native, 'bin'))) {
    const program = join(created, 'bin', name);
    copyFileSync(join(native, 'bin', name), program);
    chmodSync(program, 0o755);
    if (replaceUser) replaceUserLookup(program);
  }
  mkdirSync(join(created, 'lib'));
  for (const name of readdirSync(join(native, 'lib')))
    symlinkSync(join(native, 'lib', name), join(created, 'lib', name));
  linkLibraries(join(created, 'lib'), links);
  symlinkSync(join(native, 'share'), join(created, 'share'));
  try {
    renameSync(created, folder);
  } catch (error) {
    rmSync(created, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

/**
 * initdb prints the name of its user, and fails if the user has none, as in `docker run --user
 * 4242`. The copy prints the first name of /etc/passwd instead: it imports a function with a name
 * of the same length.
 */
function replaceUserLookup(program: string): void {
  const code = readFileSync(program, 'latin1').replaceAll('\0getpwuid\0', '\0getpwent\0');
  writeFileSync(program, code, 'latin1');
}
