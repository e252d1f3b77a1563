// @ts-check
// Writes api.d.ts, the types of openapi.yaml: npm run example:types. npx downloads openapi-typescript, because
// it is larger than all packages of the examples together.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const fileOf = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const input = fileOf('../../openapi.yaml');
const output = fileOf('api.d.ts');
const options = /** @type {const} */ ({ stdio: 'inherit', shell: process.platform === 'win32' });
execFileSync('npx', ['--yes', 'openapi-typescript@7.13.0', input, '--output', output], options);
// A number is not exact for an int64.
const int64 = /((?:Format: int64\b[^]*?\*\/\s+\w+\??|\bpetId): )number/g;
writeFileSync(output, readFileSync(output, 'utf8').replace(int64, '$1bigint'));
