import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programIn, type Binaries } from '../installation/binaries.js';
import { childEnvironment } from '../cluster/child-environment.js';
import { ACCESS_FILE, prepareAccess } from './server-access.js';
import type { ServerFiles } from './server-files.js';
import { lastRelevantLine, openServerLog } from './server-log.js';
import { isServerOf, readServerState } from './server-state.js';
import { prepareSocketDirectory, SOCKET_PORT } from './socket-directory.js';
import {
  describeSpawnError,
  seenByServer,
  spawnAsServerUser,
  type ServerUser,
} from '../cluster/server-user.js';

const POLL_MS = 10;
const FAST_SHUTDOWN_TIMEOUT_MS = 30_000;
const IMMEDIATE_SHUTDOWN_TIMEOUT_MS = 5000;

const SETTINGS = {
  // A 201 is durable. No configuration file can turn these off.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '50',
  shared_buffers: '64MB',
  // Each saves a process that is not needed here.
  io_method: 'sync',
  max_logical_replication_workers: '0',
  log_destination: 'stderr',
  logging_collector: 'off',
  // Logs starts, stops and crashes, but no failed statements.
  log_min_messages: 'log',
  log_checkpoints: 'off',
} as const;

/** Starts a server that outlives this process. Resolves when it is ready, or with the failure. */
export async function startServer(
  files: ServerFiles,
  binaries: Binaries,
  user: ServerUser | null,
  options: { port: number | undefined; signal: AbortSignal },
): Promise<string | null> {
  const log = openServerLog(files.log, user);
  const logged = fstatSync(log).size;
  let reason: string | undefined;
  try {
    const server = await launch(files, binaries, user, log, options.port);
    server.on('error', (error) => {
      reason = describeSpawnError(error, server.spawnfile);
    });
    server.on('exit', (code, signal) => {
      // On Windows, this is the exit of pg_ctl after the start of the server.
      if (process.platform === 'win32' && code === 0) return;
      reason = `the server ended with ${signal ?? code ?? 'nothing'}`;
    });
    server.unref();
  } finally {
    closeSync(log);
  }
  for (;;) {
    if (reason !== undefined) return lastRelevantLine(files.log, logged) || reason;
    const { status } = await readServerState(files);
    if (status === 'ready') return null;
    await sleep(POLL_MS, undefined, { signal: options.signal });
  }
}

async function launch(
  files: ServerFiles,
  binaries: Binaries,
  user: ServerUser | null,
  log: number,
  port: number | undefined,
): Promise<ChildProcess> {
  if (process.platform === 'win32')
    return launchOnWindows(files, binaries, port ?? (await findFreePort()));
  prepareAccess(files);
  const directory = prepareSocketDirectory(files, user);
  const cluster = seenByServer(files.cluster, user);
  const socketFolder = directory === files.cluster ? cluster : directory;
  const settings = {
    ...SETTINGS,
    listen_addresses: '',
    port: String(SOCKET_PORT),
    // A list of quoted paths. A double quote in a path is doubled.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0600',
    hba_file: join(cluster, ACCESS_FILE),
    // A container may have a small /dev/shm.
    dynamic_shared_memory_type: 'mmap',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const args = ['-D', cluster, ...options];
  return spawnAsServerUser(user, programIn(binaries.folder, 'postgres'), args, {
    cwd: files.cluster,
    stdio: ['ignore', log, log],
    detached: true,
  });
}

/** The server does not run with administrator rights. pg_ctl drops them. */
function launchOnWindows(files: ServerFiles, binaries: Binaries, port: number): ChildProcess {
  const settings = { ...SETTINGS, listen_addresses: '127.0.0.1', port: String(port) };
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
  const args = ['start', '-W', '-s', '-D', files.cluster, '-l', files.log, '-o', options];
  return spawn(programIn(binaries.folder, 'pg_ctl'), args, {
    stdio: 'ignore',
    detached: true,
    windowsHide: true,
    env: childEnvironment(),
  });
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

/**
 * Stops a server that nobody uses: a fast shutdown, or after half a minute an immediate one. Both
 * keep committed data.
 *
 * @param binaries the folder of the binaries, for Windows, where a signal would kill the server
 */
export async function stopServer(files: ServerFiles, binaries: string, pid: number): Promise<void> {
  if (process.platform === 'win32') {
    const limitSeconds = String(FAST_SHUTDOWN_TIMEOUT_MS / 1000);
    const args = ['stop', '-s', '-D', files.cluster, '-m', 'fast', '-t', limitSeconds];
    await promisify(execFile)(programIn(binaries, 'pg_ctl'), args, {
      windowsHide: true,
      env: childEnvironment(),
    });
    return;
  }
  for (const [signal, timeoutMs] of [
    ['SIGINT', FAST_SHUTDOWN_TIMEOUT_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_TIMEOUT_MS],
  ] as const) {
    if (!(await isServerOf(files, pid))) return;
    process.kill(pid, signal);
    if (await waitForEnd(files, pid, timeoutMs)) return;
  }
}

async function waitForEnd(files: ServerFiles, pid: number, timeoutMs: number): Promise<boolean> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(POLL_MS)) {
    if (!(await isServerOf(files, pid))) return true;
  }
  return false;
}
