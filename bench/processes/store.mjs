// @ts-check
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { addNumberedAnimals } from '../../examples/new-animal.mjs';
import { programOf } from '../comparison/peers.mjs';

/** The folder of the project. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * A database with animals and API keys.
 *
 * @typedef {object} Store
 * @property {import('pg').Client} database
 * @property {Record<string, string>} env libpq's variables and DATABASE_URL
 * @property {{ caller: string, rejected: string }} keys API keys; `rejected` may send one request per day
 * @property {(...command: string[]) => Promise<string>} cli runs a command for operators and returns its output
 */

/**
 * Creates the tables, animals and API keys of a database.
 *
 * @param {import('pg').Client} database
 * @param {{ PGHOST: string, PGPORT: string, PGUSER: string, PGPASSWORD?: string, PGDATABASE: string }} libpq where the database is
 * @param {{ animals: number, project?: string }} options `project`: the folder of the release that migrates
 * @param {AbortSignal} signal aborts the commands
 * @returns {Promise<Store>}
 */
export async function fillStore(database, libpq, { animals, project = ROOT }, signal) {
  const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE } = libpq;
  const credentials = PGPASSWORD === undefined ? PGUSER : `${PGUSER}:${PGPASSWORD}`;
  const env = {
    ...libpq,
    DATABASE_URL: `postgres://${credentials}@${PGHOST}:${PGPORT}/${PGDATABASE}`,
  };
  /** @param {string[]} command */
  const cli = async (...command) => {
    const program = [programOf(project, 'cli'), ...command];
    const cliEnv = { PATH: process.env.PATH, ...env };
    return (await promisify(execFile)(process.execPath, program, { env: cliEnv, signal })).stdout;
  };
  await cli('db', 'migrate');
  await addNumberedAnimals(database, animals);
  await database.query('VACUUM ANALYZE');
  /** @param {string} owner @param {string} limit per minute and per day */
  const issueKey = async (owner, limit) => {
    const plan = ['--plan', 'enterprise', '--per-minute', limit, '--per-day', limit];
    return JSON.parse(await cli('keys', 'issue', '--owner', owner, ...plan, '--json')).key;
  };
  const keys = {
    caller: await issueKey('caller', '1000000000'),
    rejected: await issueKey('rejected', '1'),
  };
  return { database, env, keys, cli };
}
