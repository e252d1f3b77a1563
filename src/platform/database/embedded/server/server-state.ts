import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
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
  /** The folder of the socket on Unix. */
  readonly host: string;
  readonly port: number;
}

export type ServerState =
  | { readonly status: 'absent' | 'starting' | 'stopping' }
  | { readonly status: 'ready'; readonly server: RunningServer };

const CONNECT_TIMEOUT_MS = 1000;
const PROCESS_LIST_LIMIT = { timeout: 5000 };
/** A server writes to its new postmaster.pid within this time. */
const FILL_TIMEOUT_MS = 3000;

const run = promisify(execFile);

/** Returns whether a server runs on the cluster. Removes the files of a dead server. */
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

/** Whether process `pid` is the server of this cluster. The number may belong to another process. */
export async function isServerOf(files: ServerFiles, pid: number): Promise<boolean> {
  if (!Number.isInteger(pid)) return false;
  try {
    if (process.platform === 'linux') return isServerByProc(files, pid);
    if (process.platform === 'win32') {
      const args = ['/FI', `PID eq ${pid}`, '/NH', '/FO', 'CSV'];
      return (await run('tasklist', args, PROCESS_LIST_LIMIT)).stdout.includes('postgres.exe');
    }
    const args = ['-ww', '-o', 'args=', '-p', String(pid)];
    return (await run('ps', args, PROCESS_LIST_LIMIT)).stdout.includes(files.cluster);
  } catch {
    return false;
  }
}

/** The working directory of a server is its cluster. An ended server (a zombie) has none. */
function isServerByProc(files: ServerFiles, pid: number): boolean {
  if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return false;
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(files.cluster)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch (error) {
    // This process may not inspect the server, so the file must be right.
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Whether the socket accepts connections. A server in another container has no process here. */
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
  // The process that wrote the path may have had other mounts or another TMPDIR.
  const expected = socketDirectory(files);
  return existsSync(socketPath(expected, file.port)) ? expected : file.socketDirectory;
}

function removeSocket(server: RunningServer): void {
  if (process.platform === 'win32' || server.host === '' || Number.isNaN(server.port)) return;
  const path = socketPath(server.host, server.port);
  rmSync(path, { force: true });
  rmSync(`${path}.lock`, { force: true });
}
