// @ts-check
// Writes api.d.ts, the types of openapi.yaml: npm run example:types. openapi-typescript needs an earlier TypeScript than the
// project, so it has a lockfile of its own.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const fileOf = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const input = fileOf('../../openapi.yaml');
const output = fileOf('api.d.ts');
const folder = fileOf('types');
const options = /** @type {const} */ ({ stdio: 'inherit', shell: process.platform === 'win32' });
execFileSync('npm', ['ci', '--silent', '--ignore-scripts', '--prefix', folder], options);
const program = fileOf('types/node_modules/openapi-typescript/bin/cli.js');
execFileSync(process.execPath, [program, input, '--output', output], { stdio: 'inherit' });
// A number is not exact for an int64.
const int64 = /((?:Format: int64\b[^]*?\*\/\s+\w+\??|\bpetId): )number/g;
writeFileSync(output, readFileSync(output, 'utf8').replace(int64, '$1bigint'));
