import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** Short, because the path of a Unix socket has at most about 100 bytes. PostgreSQL's socket is in the same folder. */
const PREFIX = '.lock-';
const RANDOM_BYTES = 3;

/**
 * Locks a folder while this process starts or stops its server. PostgreSQL's own lock is a process number,
 * which means nothing in another container. This one is a Unix socket with a random name on which the
 * process listens: all containers that share the folder can connect to it, and the kernel closes it when the
 * process ends. This process has the lock if nobody listens on another socket.
 *
 * @returns a function that unlocks the folder, or null if another process has locked it or is trying to
 */
export async function lockServer(folder: string): Promise<(() => void) | null> {
  if (process.platform === 'win32') return () => undefined;
  const path = join(folder, PREFIX + randomBytes(RANDOM_BYTES).toString('hex'));
  // The folder decides who can use it. Users who may enter the folder must be able to see that it is locked.
  const server = createServer((socket) => socket.destroy()).listen({ path, writableAll: true });
  await once(server, 'listening');
  // Also removes the file.
  const unlock = (): void => void server.close();
  let isLocked = false;
  for (const name of readdirSync(folder)) {
    const other = join(folder, name);
    if (name.startsWith(PREFIX) && other !== path) isLocked ||= await hasListener(other);
  }
  // Another process may have removed the file in the moment before this one listened.
  if (!isLocked && existsSync(path)) return unlock;
  unlock();
  return null;
}

/** Returns whether a process listens on a socket. Removes the file of a socket whose process was killed. */
async function hasListener(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED') rmSync(path, { force: true });
    return !['ECONNREFUSED', 'ENOENT'].includes(code);
  } finally {
    socket.destroy();
  }
}
