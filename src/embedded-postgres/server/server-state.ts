import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  readPostmasterFile,
  removePostmasterFile,
  type PostmasterFile,
} from './postmaster-file.js';
import type { ServerFiles } from './server-files.js';
import { socketDirectory, socketPath } from './socket-directory.js';

export interface RunningServer {
  readonly pid: number;
  /** The socket's folder on Unix. */
  readonly host: string;
  readonly port: number;
}

export type ServerState =
  | { readonly status: 'absent' | 'starting' | 'stopping' }
  | { readonly status: 'ready'; readonly server: RunningServer };

const CONNECT_TIMEOUT_MS = 1000;
const PROCESS_LIST_TIMEOUT_MS = 5000;
/** How long a server may take from making its postmaster.pid to filling it. */
const FILL_TIMEOUT_MS = 3000;

const run = promisify(execFile);

/** Whether a server runs on the cluster. What a dead one left is removed. */
export async function readServerState(files: ServerFiles): Promise<ServerState> {
  const file = readPostmasterFile(files.cluster);
  if (file === null) return { status: 'absent' };
  if (Number.isNaN(file.pid) && file.ageMs < FILL_TIMEOUT_MS) return { status: 'starting' };
  const server = { pid: file.pid, host: hostOf(files, file), port: file.port };
  if (!(await isServerOf(files, file.pid)) && !(await accepts(server))) {
    removePostmasterFile(files.cluster, file);
    removeSocket(server);
    return { status: 'absent' };
  }
  return file.status === 'ready' ? { status: 'ready', server } : { status: file.status };
}

/**
 * Whether process `pid` is the server of this cluster: the number alone may be another process's by
 * now.
 */
export async function isServerOf(files: ServerFiles, pid: number): Promise<boolean> {
  if (!Number.isInteger(pid)) return false;
  try {
    if (process.platform === 'linux') return isServerByProc(files, pid);
    if (process.platform === 'win32') {
      const list = await run('tasklist', ['/FI', `PID eq ${pid}`, '/NH', '/FO', 'CSV'], {
        timeout: PROCESS_LIST_TIMEOUT_MS,
      });
      return list.stdout.includes('postgres.exe');
    }
    const list = await run('ps', ['-ww', '-o', 'args=', '-p', String(pid)], {
      timeout: PROCESS_LIST_TIMEOUT_MS,
    });
    return list.stdout.includes(files.cluster);
  } catch {
    return false;
  }
}

/**
 * A server's working directory is its cluster; the process of a server that ended (a zombie) has
 * none.
 */
function isServerByProc(files: ServerFiles, pid: number): boolean {
  if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return false;
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(files.cluster)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch (error) {
    // A server that we may not look into is believed to be what the file says.
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** A server in another container has no process here, but its socket answers. */
function accepts(server: RunningServer): Promise<boolean> {
  if (process.platform === 'win32' || !existsSync(socketPath(server.host, server.port)))
    return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect(socketPath(server.host, server.port));
    const settle = (accepted: boolean): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => settle(false));
    socket.on('connect', () => settle(true));
    socket.on('error', () => settle(false));
  });
}

function hostOf(files: ServerFiles, file: PostmasterFile): string {
  if (process.platform === 'win32') return '127.0.0.1';
  // The file has the folder's path as the server's starter saw it: another mount, or another
  // TMPDIR.
  const expected = socketDirectory(files);
  return existsSync(socketPath(expected, file.port)) ? expected : file.socketDirectory;
}

function removeSocket(server: RunningServer): void {
  if (process.platform === 'win32' || server.host === '' || Number.isNaN(server.port)) return;
  const path = join(socketPath(server.host, server.port));
  rmSync(path, { force: true });
  rmSync(`${path}.lock`, { force: true });
}
