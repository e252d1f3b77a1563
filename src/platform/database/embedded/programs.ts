import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ServerUser } from './server-user.js';

/** Other variables may hold secrets or change how PostgreSQL works. The last ones are Windows'. */
const ENVIRONMENT =
  /^(?:PATH|LD_LIBRARY_PATH|COMSPEC|PATHEXT|SYSTEMDRIVE|SYSTEMROOT|TEMP|TMP|WINDIR)$/i;

/** PostgreSQL's programs, and who runs them. */
export interface Programs {
  /** Contains bin, lib and share. */
  readonly folder: string;
  /** null: the user of this process. */
  readonly user: ServerUser | null;
}

/**
 * Returns the path by which a program opens its working directory. Another user may not be allowed
 * to enter the parent folders, for example /root.
 */
export function pathOf(workingDirectory: string): string {
  return process.platform === 'linux' ? '/proc/self/cwd' : workingDirectory;
}

/**
 * Runs a program as the server's user, without capabilities. Resolves with null, or with one line
 * that says why it failed.
 *
 * @param cwd the working directory
 * @param signal ends the program
 */
export async function runProgram(
  { folder, user }: Programs,
  name: 'initdb' | 'pg_ctl' | 'postgres',
  args: readonly string[],
  cwd: string,
  signal?: AbortSignal,
): Promise<string | null> {
  const isWindows = process.platform === 'win32';
  // Only passed on.
  // eslint-disable-next-line no-restricted-properties
  const allowed = Object.entries(process.env).filter(([key]) => ENVIRONMENT.test(key));
  const child = spawn(join(folder, 'bin', isWindows ? `${name}.exe` : name), args, {
    cwd,
    ...user,
    // initdb writes the time zone and the language of messages to the configuration.
    env: { ...Object.fromEntries(allowed), LC_ALL: 'C', TZ: 'UTC' },
    // On Windows, the server would inherit the pipe from pg_ctl and keep it open.
    stdio: ['ignore', 'ignore', isWindows && name === 'pg_ctl' ? 'ignore' : 'pipe'],
    // Ctrl-C on a terminal interrupts only this process, which then ends the program.
    detached: true,
    windowsHide: true,
  });
  let printed = '';
  child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const end = (): void => void child.kill();
  signal?.addEventListener('abort', end);
  try {
    const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
    return code === 0 ? null : findFailure(printed) || `${name} ended with ${killedBy ?? code}`;
  } catch (error) {
    return (error as Error).message;
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

/** Returns the line of a program's output that reports a failure, or ''. */
export function findFailure(output: string): string {
  const [line = ''] =
    /^.*(?:FATAL|PANIC|error):.*(?:\n.*DETAIL:.*)?|^(?:pg_ctl|initdb): .*/m.exec(output) ?? [];
  return line.replace(/^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /gm, '');
}
