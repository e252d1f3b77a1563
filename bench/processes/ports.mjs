// @ts-check
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;

/** @returns {Promise<number>} a port of 127.0.0.1 that nobody listens on */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
  probe.close();
  await once(probe, 'close');
  return port;
}

/**
 * Returns when somebody listens on the port.
 *
 * @param {number} port
 * @param {number} limitMs
 * @throws when nobody does in time
 */
export async function untilItListens(port, limitMs) {
  const deadline = Date.now() + limitMs;
  while (!(await listens(port))) {
    if (Date.now() > deadline) throw new Error(`nobody listens on port ${port}`);
    await delay(POLL_MS);
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function listens(port) {
  return new Promise((settle) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      settle(true);
    });
    socket.once('error', () => settle(false));
  });
}
