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

/**
 * The name by which the dynamic loader finds a library. npm packages cannot contain symbolic links.
 */
export interface LibraryLink {
  readonly name: string;
  readonly target: string;
}

export interface PrivateInstallation {
  /** Links that the package lacks. */
  links?: readonly LibraryLink[];
  /** Linux: makes initdb work for a user without an entry in /etc/passwd. */
  anonymousUser?: boolean;
}

/**
 * Creates an installation in `folder`. Programs are copied, because they look for lib and share
 * relative to their real path. Everything else is linked. The folder appears when it is complete.
 */
export function installPrivately(
  native: string,
  folder: string,
  options: PrivateInstallation,
): void {
  if (existsSync(folder)) return;
  const created = mkdtempSync(`${folder}.new-`);
  chmodSync(created, 0o755);
  mkdirSync(join(created, 'bin'));
  for (const name of readdirSync(join(native, 'bin'))) {
    const program = join(created, 'bin', name);
    copyFileSync(join(native, 'bin', name), program);
    chmodSync(program, 0o755);
    if (options.anonymousUser === true) replaceUserLookup(program);
  }
  mkdirSync(join(created, 'lib'));
  for (const name of readdirSync(join(native, 'lib')))
    symlinkSync(join(native, 'lib', name), join(created, 'lib', name));
  for (const { name, target } of options.links ?? []) {
    const link = join(created, 'lib', name);
    if (!existsSync(link)) symlinkSync(join(native, 'lib', target), link);
  }
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
  const bytes = readFileSync(program);
  for (
    let at = bytes.indexOf('\0getpwuid\0');
    at >= 0;
    at = bytes.indexOf('\0getpwuid\0', at + 1)
  ) {
    bytes.write('getpwent', at + 1, 'latin1');
  }
  writeFileSync(program, bytes);
}
