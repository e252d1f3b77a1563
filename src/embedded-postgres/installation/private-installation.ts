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
 * A library's second name, as the dynamic loader looks for it; npm packages cannot hold symbolic
 * links.
 */
export interface LibraryLink {
  readonly name: string;
  readonly target: string;
}

export interface PrivateInstallation {
  /** Names of libraries that the original lacks. */
  links?: readonly LibraryLink[];
  /** Linux: for a user without an entry in /etc/passwd, whom initdb refuses. */
  anonymousUser?: boolean;
}

/**
 * An installation of our own in `folder`: programs are copied (they look for lib and share beside
 * the file they really are), the rest is linked to. Made beside and renamed, so that a half-made
 * one is never used.
 */
export function installPrivately(
  native: string,
  folder: string,
  options: PrivateInstallation,
): void {
  if (existsSync(folder)) return;
  const made = mkdtempSync(`${folder}.new-`);
  chmodSync(made, 0o755);
  mkdirSync(join(made, 'bin'));
  for (const name of readdirSync(join(native, 'bin'))) {
    const program = join(made, 'bin', name);
    copyFileSync(join(native, 'bin', name), program);
    chmodSync(program, 0o755);
    if (options.anonymousUser === true) forgoUserLookup(program);
  }
  mkdirSync(join(made, 'lib'));
  for (const name of readdirSync(join(native, 'lib')))
    symlinkSync(join(native, 'lib', name), join(made, 'lib', name));
  for (const { name, target } of options.links ?? []) {
    const link = join(made, 'lib', name);
    if (!existsSync(link)) symlinkSync(join(native, 'lib', target), link);
  }
  symlinkSync(join(native, 'share'), join(made, 'share'));
  try {
    renameSync(made, folder);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

/**
 * initdb asks the C library for its user's name, only to print it, and gives up when there is none,
 * as in `docker run --user 4242`. The copy asks for the first entry of /etc/passwd instead: the
 * imported function's name is replaced by one as long.
 */
function forgoUserLookup(program: string): void {
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
