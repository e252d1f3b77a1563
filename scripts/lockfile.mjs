// @ts-check
// The packages that package-lock.json lists, for the scripts that report on them.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {{ path: string, name: string, version: string, isDevelopment: boolean, license?: string }} LockedPackage */

/**
 * @param {string} root the folder of package-lock.json
 * @returns {LockedPackage[]} without the project itself
 */
export function readLockfile(root) {
  /** @type {{ packages: Record<string, { name?: string, version: string, dev?: boolean, license?: string }> }} */
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, { name, version, dev = false, license }]) => ({
      path,
      name: name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      isDevelopment: dev,
      ...(license !== undefined && { license }),
    }));
}

/**
 * @param {string} root
 * @param {LockedPackage} entry
 * @returns {string | undefined} an SPDX expression. Old packages have it only in their own package.json, in an old format.
 */
export function licenceOf(root, { path, license }) {
  if (license !== undefined) return license;
  const file = join(root, path, 'package.json');
  if (!existsSync(file)) return undefined;
  /** @type {{ licenses?: { type: string }[] }} */
  const { licenses } = JSON.parse(readFileSync(file, 'utf8'));
  return licenses?.map(({ type }) => type).join(' OR ');
}
