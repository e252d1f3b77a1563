// The program that GuardProcess starts. Nobody reads its output, so it prints nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTACHED, type GuardOrders } from './guard-process.js';
import { serverFiles, type ServerFiles } from './server-files.js';
import { stopServer } from './server-process.js';
import { ServerSession } from './server-session.js';
import { readServerState, type RunningServer } from './server-state.js';
import { removeSocketDirectory } from './socket-directory.js';

const POLL_MS = 20;
/** A server that a killed owner has just launched creates postmaster.pid within this time. */
const LAUNCH_TIMEOUT_MS = 3000;
/** A starting server, including recovery, accepts connections within this time. */
const START_TIMEOUT_MS = 120_000;
/** The server closes the session of an ended owner within this time. */
const OWNER_SESSION_TIMEOUT_MS = 5000;

const orders = JSON.parse(process.argv[2] ?? '') as GuardOrders;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('uncaughtException', () => process.exit(1));

const wasAttached = await ownerEnded();
await stopUnlessUsed(serverFiles(orders.dataDir), wasAttached);
process.exit(0);

/** Resolves when the owner has ended, with whether it was attached to a server. */
function ownerEnded(): Promise<boolean> {
  return new Promise((resolve) => {
    let received = '';
    process.stdin.setEncoding('utf8');
    process.stdin.on('data', (text: string) => (received += text));
    process.stdin.on('error', () => undefined);
    process.stdin.on('close', () => resolve(received === ATTACHED));
  });
}

async function stopUnlessUsed(files: ServerFiles, wasAttached: boolean): Promise<void> {
  const startedAtMs = Date.now();
  const elapsedMs = (): number => Date.now() - startedAtMs;
  while (elapsedMs() < START_TIMEOUT_MS) {
    const state = await readServerState(files);
    if (state.status === 'absent' && (wasAttached || elapsedMs() > LAUNCH_TIMEOUT_MS)) return;
    if (state.status === 'ready' && (await tryStop(files, state.server))) return;
    await sleep(POLL_MS);
  }
}

/** Returns false if no connection to the server was possible. */
async function tryStop(files: ServerFiles, server: RunningServer): Promise<boolean> {
  let session: ServerSession;
  try {
    session = await ServerSession.open(files, server, 'embedded database guard');
  } catch {
    return false;
  }
  try {
    await waitForOwnerSession(session);
    // Without the lock: another process uses the server, and its guard stops the server later.
    // With the lock: a process that wants to use the server waits until it has stopped.
    if (await session.tryUseExclusively()) {
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

/** If two owners end at once, their guards must not mistake the closing sessions for users. */
async function waitForOwnerSession(session: ServerSession): Promise<void> {
  for (const end = Date.now() + OWNER_SESSION_TIMEOUT_MS; Date.now() < end; await sleep(POLL_MS)) {
    if (!(await session.hasSession(orders.ownerSession))) return;
  }
}
