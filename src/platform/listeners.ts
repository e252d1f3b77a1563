import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Logger } from 'pino';
import { StartError } from './errors/start-error.js';

/** Connections to accept. With Node's default of 511, the system drops some of a burst. */
const LISTEN_BACKLOG = 4_096;
const MAX_PORT = 65_535;

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to open it',
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

/** Makes the servers listen, one after the other. @throws StartError that says what to change */
export async function listen(listeners: readonly Listener[], logger: Logger): Promise<void> {
  for (const { server, prefix, port, host } of listeners) {
    server.listen({ port, host, backlog: LISTEN_BACKLOG });
    try {
      await once(server, 'listening');
    } catch (cause) {
      const { code = '' } = cause as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE') throw await portInUse(listeners, cause);
      const [setting, value] = code === 'EACCES' ? ['PORT', `port ${port}`] : ['HOST', host];
      const reason = REASONS[code] ?? code;
      throw new StartError(`${prefix}${setting}: cannot listen on ${value} (${reason})`, { cause });
    }
    // A temporary error, such as too many open files, must not end the process.
    server.on('error', (err) => logger.error({ err }, 'connection not accepted'));
  }
}

/** Checks all ports, because a second service on this computer needs another one for each listener. */
async function portInUse(listeners: readonly Listener[], cause: unknown): Promise<StartError> {
  const problems: string[] = [];
  const variables: string[] = [];
  for (const { server, prefix, port, host } of listeners) {
    if (server.listening || (await canListen(port, host))) continue;
    problems.push(`${prefix}PORT: port ${port} of ${host} is in use.`);
    variables.push(`${prefix}PORT=${await freePortAfter(port, host)}`);
  }
  const start = startCommand(variables);
  return new StartError(`${problems.join(' ')} To use a free port: ${start}`, { cause });
}

/** Returns a command for the shell, or on Windows for both the Command Prompt and PowerShell. */
function startCommand(variables: readonly string[]): string {
  if (process.platform !== 'win32') return `${variables.join(' ')} npm start`;
  // A space before && would become a part of the value.
  return `cmd /c "${variables.map((variable) => `set ${variable}&& `).join('')}npm start"`;
}

/** Returns 0, with which the system chooses a port, if all higher ports are in use. */
async function freePortAfter(port: number, host: string): Promise<number> {
  for (let candidate = port + 1; candidate <= MAX_PORT; candidate++) {
    if (await canListen(candidate, host)) return candidate;
  }
  return 0;
}

async function canListen(port: number, host: string): Promise<boolean> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
    probe.close();
    await once(probe, 'close');
    return true;
  } catch {
    return false;
  }
}
