import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import {
  findPrograms,
  WORKING_FOLDER,
  type Programs,
  runProgram,
  type ServerUser,
} from './programs.js';
import { PRODUCT } from '../../../product.js';

export const SUPERUSER = PRODUCT.database;

/** Exists on Linux with the GNU C library. Its other processes can use the cluster too. */
const NOBODY: ServerUser = { uid: 65_534, gid: 65_534 };

export const clusterIn = (dataDir: string): string => join(dataDir, 'postgres');

/** Returns the path of the superuser's password: on Windows, and of earlier releases' clusters. */
export const passwordFileIn = (dataDir: string): string => join(dataDir, 'postgres.password');

/** Whether the folder holds a database. @throws Error if this process may not know it */
export function hasCluster(dataDir: string): boolean {
  return fs.statSync(clusterIn(dataDir), { throwIfNoEntry: false }) !== undefined;
}

/**
 * Creates the cluster if there is none. initdb works in a temporary folder, which is then renamed:
 * an interrupted initdb leaves no incomplete cluster, and only one of two processes wins. Returns
 * the programs for the cluster.
 *
 * @param dataDir a folder that exists, without symbolic links
 */
export async function ensureCluster(dataDir: string, signal?: AbortSignal): Promise<Programs> {
  const programs = findPrograms(serverUser(dataDir));
  if (hasCluster(dataDir)) return programs;
  const created = fs.mkdtempSync(`${clusterIn(dataDir)}.new-`);
  try {
    if (programs.user) fs.chownSync(created, programs.user.uid, programs.user.gid);
    await runProgram(programs, 'initdb', initdbArguments(dataDir), created, signal);
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

/**
 * Returns the user that runs the server for root, because PostgreSQL does not run as root: the owner
 * of the cluster. null: the user of this process.
 */
function serverUser(dataDir: string): ServerUser | null {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return null;
  const { uid, gid } = fs.statSync(clusterIn(dataDir), { throwIfNoEntry: false }) ?? NOBODY;
  return { uid, gid };
}

function initdbArguments(dataDir: string): string[] {
  return [
    ...[`--pgdata=${WORKING_FOLDER}`, `--username=${SUPERUSER}`, '--no-instructions'],
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
  fs.writeFileSync(password, randomBytes(24).toString('base64url'), { flag: 'wx' });
  const rights = ['/inheritance:r', '/grant:r', `${userInfo().username}:F`];
  execFileSync('icacls', [password, ...rights], { stdio: 'ignore' });
  return password;
}
