import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { findPrograms } from './binaries.js';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { pathOf, type Programs, runProgram } from './programs.js';
import { chooseServerUser, giveToServerUser } from './server-user.js';

export const SUPERUSER = 'pets';

export const clusterIn = (dataDir: string): string => join(dataDir, 'postgres');

/** Returns the path of the superuser's password: on Windows, and of earlier releases' clusters. */
export const passwordFileIn = (dataDir: string): string => join(dataDir, 'postgres.password');

/** Whether the folder holds a database. True if this process may not read it. */
export function hasCluster(dataDir: string): boolean {
  try {
    return fs.readdirSync(clusterIn(dataDir)).length > 0;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Creates a folder. Node's option `recursive` never returns for one that /proc cannot contain. */
export function createFolder(path: string): void {
  if (fs.existsSync(path)) return;
  createFolder(dirname(path));
  try {
    fs.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!fs.existsSync(path)) throw error;
  }
}

/**
 * Creates the cluster if there is none. initdb works in a temporary folder, which is then renamed:
 * an interrupted initdb leaves no incomplete cluster, and only one of two processes wins. Returns
 * the programs for the cluster.
 *
 * @param dataDir a folder that exists, without symbolic links
 */
export async function ensureCluster(dataDir: string, signal?: AbortSignal): Promise<Programs> {
  const programs = await findPrograms(dataDir, chooseServerUser(dataDir));
  signal?.throwIfAborted();
  if (hasCluster(dataDir)) return programs;
  const created = fs.mkdtempSync(`${clusterIn(dataDir)}.new-`);
  try {
    giveToServerUser(created, programs.user);
    const args = initdbArguments(dataDir, created);
    const failure = await runProgram(programs, 'initdb', args, created, signal);
    if (failure !== null) {
      throw new EmbeddedDatabaseError(
        `the embedded database in ${dataDir} could not be created (${failure})`,
        'fix the cause, choose another DATA_DIR',
      );
    }
    fs.renameSync(created, clusterIn(dataDir));
    // Otherwise the renamed cluster could be lost in a power cut.
    if (process.platform !== 'win32') execFileSync('sync', [dataDir]);
  } catch (error) {
    // Another process has created the cluster, and may have removed this folder.
    if (!hasCluster(dataDir)) throw error;
  } finally {
    fs.rmSync(created, { recursive: true, force: true, maxRetries: 3 });
  }
  return programs;
}

/** Removes what killed first starts have left. Only for the owner of the running server. */
export function removeUnfinished(dataDir: string): void {
  for (const name of fs.readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-')))
    fs.rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 });
}

function initdbArguments(dataDir: string, folder: string): string[] {
  return [
    ...[`--pgdata=${pathOf(folder)}`, `--username=${SUPERUSER}`, '--no-instructions'],
    ...['--encoding=UTF8', '--locale=C'],
    // Upper and lower case of all scripts, and sorting by code point: the same on all systems, and
    // after upgrades of their libraries.
    ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    ...(process.platform === 'win32'
      ? ['--auth=scram-sha-256', `--pwfile=${createPassword(dataDir)}`]
      : ['--auth=trust']),
  ];
}

/** Windows: returns the path of a file with the password, which only its owner can read. */
function createPassword(dataDir: string): string {
  const password = passwordFileIn(dataDir);
  if (fs.existsSync(password)) return password;
  const created = `${password}.new-${process.pid}`;
  fs.writeFileSync(created, '');
  const rights = ['/inheritance:r', '/grant:r', `${userInfo().username}:F`];
  execFileSync('icacls', [created, ...rights], { stdio: 'ignore' });
  fs.writeFileSync(created, randomBytes(24).toString('base64url'));
  fs.renameSync(created, password);
  return password;
}
