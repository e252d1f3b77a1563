import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Where Debian's package keeps them, by version. */
const DEBIAN_FOLDER = '/usr/lib/postgresql';
const NEEDED = ['initdb', 'postgres'];

/**
 * Returns the folder of an installed PostgreSQL's programs, or undefined; then says so in one line.
 */
export function findPostgresPrograms(): string | undefined {
  const asked = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).sort().reverse() : [];
  const folders = [
    ...(asked.status === 0 ? [asked.stdout.trim()] : []),
    ...versions.map((version) => join(DEBIAN_FOLDER, version, 'bin')),
  ];
  const found = folders.find((folder) => NEEDED.every((name) => existsSync(join(folder, name))));
  if (found === undefined) {
    process.stderr.write(`Skipped: needs ${NEEDED.join(', ')} (Debian: postgresql).\n`);
  }
  return found;
}
