import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const GIT_LIMIT_MS = 2_000;
const UNKNOWN = 'unknown';

/** The release and the commit that a process runs. */
export interface Build {
  readonly version: string;
  /** The first 12 digits of the commit's id, or `unknown`. */
  readonly commit: string;
  /** The date of the commit, such as `2026-11-27T10:00:00+00:00`, or `unknown`. */
  readonly commitDate: string;
}

/** Returns the version in the package.json of a folder. */
export function readVersion(folder: string): string {
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Returns what the image was built from (COMMIT and COMMIT_DATE, its build arguments) or, in a checkout,
 * its current commit.
 *
 * @param folder of the project
 */
export async function currentBuild(
  folder: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Build> {
  const { COMMIT, COMMIT_DATE } = environment;
  const [commit = UNKNOWN, commitDate = UNKNOWN] = COMMIT
    ? [COMMIT, COMMIT_DATE]
    : await (checkedOut ??= checkedOutCommit(folder));
  return { version: readVersion(folder), commit: commit.slice(0, 12), commitDate };
}

/** The process belongs to one project. */
let checkedOut: Promise<string[]> | undefined;

async function checkedOutCommit(folder: string): Promise<string[]> {
  // A repository around the folder of the service is a different one.
  if (!existsSync(join(folder, '.git'))) return [];
  try {
    // The checkout may belong to another user.
    const trust = ['-c', `safe.directory=${folder}`];
    const { stdout } = await promisify(execFile)(
      'git',
      [...trust, 'log', '-1', '--format=%H %cI'],
      { cwd: folder, timeout: GIT_LIMIT_MS },
    );
    return stdout.trim().split(' ');
  } catch {
    return [];
  }
}
