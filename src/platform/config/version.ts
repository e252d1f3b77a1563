import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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
export function currentBuild(environment: NodeJS.ProcessEnv = process.env): Build {
  const { COMMIT, COMMIT_DATE } = environment;
  const [commit = UNKNOWN, commitDate = UNKNOWN] = COMMIT
    ? [COMMIT, COMMIT_DATE]
    : checkedOutCommit();
  return { version: VERSION, commit: commit.slice(0, 12), commitDate };
}

function checkedOutCommit(): string[] {
  // A repository around the folder of the service is a different one.
  if (!existsSync(`${ROOT}.git`)) return [];
  try {
    // The checkout may belong to another user.
    const trust = ['-c', `safe.directory=${ROOT.slice(0, -1)}`];
    const output = execFileSync('git', [...trust, 'log', '-1', '--format=%H %cI'], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: GIT_LIMIT_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return output.trim().split(' ');
  } catch {
    return [];
  }
}
