// @ts-check
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;

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
 * @param {number} limitMs
 * @throws if no process listens within the limit
 */
export async function waitUntilListening(port, limitMs) {
  const deadlineMs = Date.now() + limitMs;
  while (!(await isListening(port))) {
    if (Date.now() > deadlineMs) throw new Error(`No process listens on port ${port}.`);
    await delay(POLL_MS);
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function isListening(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
