// @ts-check
// Fails if a package has a licence that is not on the list.
// Usage: node scripts/check-licences.mjs [FOLDER]
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { licenceOf, readLockfile } from './lockfile.mjs';

/** Licences that allow the service and its image to be distributed. */
const FOR_THE_SERVICE = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Python-2.0',
];
/** Also for packages that only build and test it, which are not distributed. */
const FOR_DEVELOPMENT = [...FOR_THE_SERVICE, 'BlueOak-1.0.0', 'CC-BY-4.0', 'CC0-1.0', 'Zlib'];

const root = resolve(process.argv[2] ?? resolve(dirname(fileURLToPath(import.meta.url)), '..'));
const packages = readLockfile(root);
const problems = packages.flatMap((entry) => {
  const licence = licenceOf(root, entry) ?? 'no licence';
  const allowed = entry.isDevelopment ? FOR_DEVELOPMENT : FOR_THE_SERVICE;
  if (isAllowed(licence, allowed)) return [];
  const use = entry.isDevelopment ? 'development' : 'service';
  return [`${entry.name}@${entry.version} (${use}): ${licence}`];
});
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) {
  process.stderr.write(
    'These licences are not on the list of scripts/check-licences.mjs. Replace the package, or extend the list after a review.\n',
  );
  process.exitCode = 1;
} else {
  process.stdout.write(`The licences of ${packages.length} packages are on the list.\n`);
}

/**
 * @param {string} expression SPDX; one with both AND and OR is not allowed
 * @param {string[]} allowed
 */
function isAllowed(expression, allowed) {
  const licences = expression.replace(/^\((.*)\)$/, '$1');
  const [operator] = ['AND', 'OR'].filter((word) => licences.includes(` ${word} `));
  /** @param {string} name */
  const isListed = (name) => allowed.includes(name);
  const names = operator === undefined ? [licences] : licences.split(` ${operator} `);
  return operator === 'OR' ? names.some(isListed) : names.every(isListed);
}
