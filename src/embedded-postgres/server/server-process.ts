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
  // A 201 is durable: said here, so that no configuration file turns them off.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '50',
  shared_buffers: '64MB',
  // One process fewer each: asynchronous reads and logical replication have no use here.
  io_method: 'sync',
  max_logical_replication_workers: '0',
  log_destination: 'stderr',
  logging_collector: 'off',
  // Starts, stops and crashes, but not each statement that fails: the log grows only while the
  // server starts.
  log_min_messages: 'log',
  log_checkpoints: 'off',
} as const;

/**
 * Starts a server that outlives us and returns when it takes connections, or why it did not start.
 */
export async function startServer(
  files: ServerFiles,
  binaries: Binaries,
  user: ServerUser | null,
  options: { port: number | undefined; signal: AbortSignal },
): Promise<{ failure: string | null }> {
  const log = openServerLog(files.log, user);
  const logged = fstatSync(log).size;
  const end: { reason?: string } = {};
  try {
    const server = await launch(files, binaries, user, log, options.port);
    server.on('error', (error) => {
      end.reason = describeSpawnError(error, server.spawnfile);
    });
    server.on('exit', (code, signal) => {
      // On Windows it is pg_ctl that ends, once the server runs.
      if (process.platform === 'win32' && code === 0) return;
      end.reason = `the server ended with ${signal ?? code ?? 'nothing'}`;
    });
    server.unref();
  } finally {
    closeSync(log);
  }
  for (;;) {
    if (end.reason !== undefined)
      return { failure: lastRelevantLine(files.log, logged) || end.reason };
    const { status } = await readServerState(files);
    if (status === 'ready') return { failure: null };
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
    // A list; in double quotes, where one stands for itself when doubled, a path may hold anything.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0600',
    hba_file: join(cluster, ACCESS_FILE),
    // Not in /dev/shm, which a container may have made tiny.
    dynamic_shared_memory_type: 'mmap',
  };
  const args = [
    '-D',
    cluster,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  return spawnAsServerUser(user, programIn(binaries.folder, 'postgres'), args, {
    cwd: files.cluster,
    stdio: ['ignore', log, log],
    detached: true,
  });
}

/** By pg_ctl, which gives up an administrator's rights, as the server demands. */
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
 * Fast shutdown: sessions are ended, what was committed is kept. Returns when the server is gone
 * or, in the worst case, after half a minute of waiting for it. The caller has made sure that
 * nobody uses the server.
 * @param binaries the folder of the binaries; for Windows, where a signal would be a kill
 */
export async function stopServer(files: ServerFiles, binaries: string, pid: number): Promise<void> {
  if (process.platform === 'win32') {
    const args = [
      'stop',
      '-s',
      '-D',
      files.cluster,
      '-m',
      'fast',
      '-t',
      String(FAST_SHUTDOWN_TIMEOUT_MS / 1000),
    ];
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
    if (await waitUntilGone(files, pid, timeoutMs)) return;
  }
}

async function waitUntilGone(files: ServerFiles, pid: number, timeoutMs: number): Promise<boolean> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(POLL_MS)) {
    if (!(await isServerOf(files, pid))) return true;
  }
  return false;
}
