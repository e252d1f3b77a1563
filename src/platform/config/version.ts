import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const GIT_LIMIT_MS = 2_000;
const UNKNOWN = 'unknown';

/** The version of the service, from package.json. */
export const { version: VERSION } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  version: string;
};

/** The release and the commit that a process runs. */
export interface Build {
  readonly version: string;
  /** The first 12 digits of the commit's id, or `unknown`. */
  readonly commit: string;
  /** The date of the commit, such as `2026-11-27T10:00:00+00:00`, or `unknown`. */
  readonly commitDate: string;
}

/**
 * Returns what the image was built from (COMMIT and COMMIT_DATE, its build arguments) or, in a checkout,
 * its current commit.
 */
export async function currentBuild(environment: NodeJS.ProcessEnv = process.env): Promise<Build> {
  const { COMMIT, COMMIT_DATE } = environment;
  const [commit = UNKNOWN, commitDate = UNKNOWN] = COMMIT
    ? [COMMIT, COMMIT_DATE]
    : await (checkedOut ??= checkedOutCommit());
  return { version: VERSION, commit: commit.slice(0, 12), commitDate };
}

let checkedOut: Promise<string[]> | undefined;

async function checkedOutCommit(): Promise<string[]> {
  // A repository around the folder of the service is a different one.
  if (!existsSync(`${ROOT}.git`)) return [];
  try {
    // The checkout may belong to another user.
    const trust = ['-c', `safe.directory=${ROOT.slice(0, -1)}`];
    const { stdout } = await promisify(execFile)(
      'git',
      [...trust, 'log', '-1', '--format=%H %cI'],
      { cwd: ROOT, timeout: GIT_LIMIT_MS },
    );
    return stdout.trim().split(' ');
  } catch {
    return [];
  }
}
