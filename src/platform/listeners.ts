import { once } from 'node:events';
import type { Server } from 'node:net';
import { StartError } from './errors/start-error.js';

/** Connections to accept. With Node's default of 511, the system drops some of a burst. */
const LISTEN_BACKLOG = 4_096;

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to open it',
  EADDRINUSE: 'it is in use; set another port',
  EADDRNOTAVAIL: 'it is not an address of this computer',
  ENOTFOUND: 'the name cannot be resolved',
};

/**
 * Makes the server listen.
 *
 * @param prefix of its settings PORT and HOST
 * @throws StartError that says which setting to change
 */
export async function listen(
  server: Server,
  prefix: '' | 'METRICS_',
  port: number,
  host: string,
): Promise<void> {
  server.listen({ port, host, backlog: LISTEN_BACKLOG });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const isPort = code === 'EACCES' || code === 'EADDRINUSE';
    const problem = isPort
      ? `PORT: cannot listen on port ${port}`
      : `HOST: cannot listen on ${host}`;
    throw new StartError(`${prefix}${problem} (${REASONS[code] ?? code})`, { cause });
  }
}
