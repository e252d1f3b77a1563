// @ts-check
// Prints a CycloneDX bill of materials of the packages that the service needs at run time.
// Usage: npm run --silent sbom > sbom.cdx.json
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { licenceOf, readLockfile } from './lockfile.mjs';

/**
 * @typedef {{ 'bom-ref': string, name: string, licenses?: { license: { id?: string, name?: string } }[] }} Component
 * @typedef {{ metadata: { component: Component }, components: Component[], dependencies: { ref: string, dependsOn: string[] }[] }} Sbom
 */

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

const lines = execFileSync(
  'npm',
  ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'],
  // npm is a .cmd file on Windows.
  { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26, shell: process.platform === 'win32' },
);
/** @type {Sbom} */
const sbom = JSON.parse(lines);

// npm's --omit=dev also omits packages that the service needs (npm 11.19 drops express).
const packages = readLockfile(ROOT).filter(({ isDevelopment }) => !isDevelopment);
const licences = new Map(
  packages.map((entry) => [`${entry.name}@${entry.version}`, licenceOf(ROOT, entry)]),
);
const root = sbom.metadata.component;
// npm uses the name of the folder.
root.name = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).name;

/** @param {string} reference */
const isKept = (reference) => licences.has(reference) || reference === root['bom-ref'];

sbom.components = sbom.components.filter((component) => isKept(component['bom-ref']));
for (const component of sbom.components) {
  if (component.licenses?.length) continue;
  const name = licences.get(component['bom-ref']);
  if (name !== undefined) component.licenses = [{ license: { name } }];
}
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => isKept(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isKept) }));
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`);
