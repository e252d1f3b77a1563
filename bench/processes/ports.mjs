// @ts-check
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const START_LIMIT_MS = 30_000;
const POLL_MS = 20;

/** @returns {Promise<number>} a free port on 127.0.0.1 */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Waits until a process listens on the port.
 *
 * @param {number} port
 * @param {() => boolean} [isOver] whether the process has ended. By default, it has half a minute
 * @throws if the process has ended, or does not listen in time
 */
export async function waitUntilListening(port, isOver) {
  const deadlineMs = Date.now() + START_LIMIT_MS;
  isOver ??= () => Date.now() > deadlineMs;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (isOver()) throw error;
    } finally {
      socket.destroy();
    }
    await delay(POLL_MS);
  }
}
