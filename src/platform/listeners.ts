import { once } from 'node:events';
import type { Server } from 'node:net';
import type { Logger } from 'pino';
import { StartError } from './errors/start-error.js';

/** Connections to accept. With Node's default of 511, the system drops some of a burst. */
const LISTEN_BACKLOG = 4_096;

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to open it',
  EADDRINUSE: 'it is in use; set another port',
  EADDRNOTAVAIL: 'it is not an address of this computer',
  ENOTFOUND: 'the name cannot be resolved',
};

/** A server and the address that it listens on. */
export interface Listener {
  readonly server: Server;
  /** The prefix of its settings PORT and HOST. */
  readonly prefix: '' | 'METRICS_';
  readonly port: number;
  readonly host: string;
}

/** Makes the server listen. @throws StartError that says which setting to change */
export async function listen(
  { server, prefix, port, host }: Listener,
  logger: Logger,
): Promise<void> {
  server.listen({ port, host, backlog: LISTEN_BACKLOG });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const isPort = code === 'EACCES' || code === 'EADDRINUSE';
    const [setting, value] = isPort ? ['PORT', `port ${port}`] : ['HOST', host];
    const reason = REASONS[code] ?? code;
    throw new StartError(`${prefix}${setting}: cannot listen on ${value} (${reason})`, { cause });
  }
  // A temporary error, such as too many open files, must not end the process.
  server.on('error', (err) => logger.error({ err }, 'connection not accepted'));
}
