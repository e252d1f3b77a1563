import { hostname, userInfo } from 'node:os';

/** Returns the user and host of this process, as `user@host`. */
export function currentOperator(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user's number may have no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
