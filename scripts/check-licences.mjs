// @ts-check
// Fails if a package that the service needs has a licence that is not on the list. Packages that only
// build and test it are not distributed. Usage: node scripts/check-licences.mjs [FOLDER]
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences, as SPDX expressions, that allow the service and its image to be distributed. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Python-2.0'];
/** MIT, but in an old format that npm does not copy to the lockfile. */
const REVIEWED = ['busboy', 'streamsearch'];

const lockfile = join(process.argv[2] ?? '.', 'package-lock.json');
/** @type {{ packages: Record<string, { version: string, dev?: boolean, license?: string }> }} */
const installed = JSON.parse(readFileSync(lockfile, 'utf8'));
const packages = Object.entries(installed.packages).filter(
  ([path, { dev }]) => path !== '' && !dev,
);
for (const [path, { version, license }] of packages) {
  const name = path.replace(/^.*node_modules\//, '');
  if (license === undefined ? REVIEWED.includes(name) : ALLOWED.includes(license)) continue;
  console.error(`${name}@${version}: ${license ?? 'no licence'}`);
  process.exitCode = 1;
}
if (process.exitCode) console.log('Replace them, or extend the lists here after a review.');
