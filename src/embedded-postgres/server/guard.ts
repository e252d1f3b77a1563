// The program of GuardProcess. It prints nothing: there is nobody to read it.
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTACHED, type GuardOrders } from './guard-process.js';
import { serverFiles, type ServerFiles } from './server-files.js';
import { stopServer } from './server-process.js';
import { ServerSession } from './server-session.js';
import { readServerState, type RunningServer } from './server-state.js';
import { removeSocketDirectory } from './socket-directory.js';

const POLL_MS = 20;
/**
 * For a server that its owner had just launched when it was killed: until it makes its
 * postmaster.pid.
 */
const LAUNCH_TIMEOUT_MS = 3000;
/** For a server that is starting, recovery included: only then can it be asked who uses it. */
const START_TIMEOUT_MS = 120_000;
/** For the kernel and the server to notice that the owner is gone. */
const OWNER_GONE_TIMEOUT_MS = 5000;

const orders = JSON.parse(process.argv[2] ?? '') as GuardOrders;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('uncaughtException', () => process.exit(1));

const wasAttached = await ownerEnded();
await stopUnlessUsed(serverFiles(orders.dataDir), wasAttached);
process.exit(0);

/** @returns whether the owner had a server */
function ownerEnded(): Promise<boolean> {
  return new Promise((resolve) => {
    let said = '';
    process.stdin.setEncoding('utf8');
    process.stdin.on('data', (text: string) => (said += text));
    process.stdin.on('error', () => undefined);
    process.stdin.on('close', () => resolve(said === ATTACHED));
  });
}

async function stopUnlessUsed(files: ServerFiles, wasAttached: boolean): Promise<void> {
  const beginning = Date.now();
  const elapsedMs = (): number => Date.now() - beginning;
  while (elapsedMs() < START_TIMEOUT_MS) {
    const state = await readServerState(files);
    if (state.status === 'absent' && (wasAttached || elapsedMs() > LAUNCH_TIMEOUT_MS)) return;
    if (state.status === 'ready' && (await tryStop(files, state.server))) return;
    await sleep(POLL_MS);
  }
}

/** @returns false when the server could not be asked */
async function tryStop(files: ServerFiles, server: RunningServer): Promise<boolean> {
  let session: ServerSession;
  try {
    session = await ServerSession.open(files, server, 'embedded database guard');
  } catch {
    return false;
  }
  try {
    await waitForOwnersSession(session);
    // Refused: another process uses the server, and its own guard will come to this point after it.
    // Granted: until the server is gone, a process that wants to use it is refused, and waits.
    if (await session.tryUseAlone()) {
      await stopServer(files, orders.binaries, server.pid);
      removeSocketDirectory(files, server.host);
    }
    return true;
  } catch {
    return false;
  } finally {
    await session.close();
  }
}

/**
 * Of two owners that end at once, the guard that asks last must not take the other one's dying
 * session for a user.
 */
async function waitForOwnersSession(session: ServerSession): Promise<void> {
  for (const end = Date.now() + OWNER_GONE_TIMEOUT_MS; Date.now() < end; await sleep(POLL_MS)) {
    if (!(await session.hasSession(orders.ownerSession))) return;
  }
}
