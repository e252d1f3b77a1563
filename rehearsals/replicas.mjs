// @ts-check
import { SERVICE } from '../bench/comparison/peers.mjs';
import { startPeer } from '../bench/processes/peer-process.mjs';

/** @typedef {import('../bench/processes/peer-process.mjs').PeerProcess} Replica */

/**
 * Starts replicas of the built service and waits until they listen. Stops those that have started
 * if one does not.
 *
 * @param {number} count
 * @param {import('../bench/processes/environment.mjs').Environment} environment
 * @param {Record<string, string>} env settings, besides the address of the database
 * @param {AbortSignal} signal kills the processes
 * @returns {Promise<Replica[]>}
 */
export async function startReplicas(count, environment, env, signal) {
  /** @type {Replica[]} */
  const replicas = [];
  try {
    for (let number = 1; number <= count; number++) {
      const peer = { ...SERVICE, name: `replica-${number}`, env: { ...SERVICE.env, ...env } };
      replicas.push(await startPeer(peer, environment, signal));
    }
  } catch (error) {
    await stopReplicas(replicas);
    throw error;
  }
  return replicas;
}

/** @param {Replica[]} replicas */
export async function stopReplicas(replicas) {
  await Promise.all(replicas.map((replica) => replica.stop()));
}
