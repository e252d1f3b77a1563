import { hostname, userInfo } from 'node:os';

/** Returns who runs this process, as `user@host` of the operating system. */
export function currentOperator(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
