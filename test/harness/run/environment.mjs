// @ts-check
// The environment of each test file. A file whose tests pass fails if it leaves something open (a timer, a connection, a server), which
// would keep the process of the tests from ending.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { TestEnvironment } from 'jest-environment-node';
import pg from 'pg';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

const STOP_LIMIT_MS = 5_000;
/** A connection that a test has closed needs a moment until it is gone. */
const CLOSE_LIMIT_MS = 10_000;
const POLL_MS = 10;

/** Node.js publishes each process that it creates on this channel. */
const CHILD_PROCESSES = 'child_process';

/**
 * The databases that the next test files of this worker use (database/database-pool.ts).
 *
 * @type {{ run: string | undefined, free: typeof globalThis.freeDatabases }}
 */
const databases = { run: undefined, free: [] };

export default class extends TestEnvironment {
  /** @type {string[]} The resources that keep the process alive before the file runs. */
  before = [];
  /** @type {Set<ChildProcess>} The processes that the file has started and that still run. */
  processes = new Set();
  hasFailed = false;
  /** Node.js opens them at their first use. If a test did, they would count as left open. */
  output = [process.stdout, process.stderr];

  /** @param {unknown} message */
  onStart = (message) => {
    const { process } = /** @type {{ process: ChildProcess }} */ (message);
    this.processes.add(process);
    process.once('exit', () => this.processes.delete(process));
  };

  /** @override */
  async setup() {
    await super.setup();
    const run = process.env['TEST_RUN'];
    // In watch mode, the set-up of the next run drops them.
    if (databases.run !== run) Object.assign(databases, { run, free: [] });
    this.global.freeDatabases = databases.free;
    this.global.connectClient = connectClient;
    this.before = process.getActiveResourcesInfo();
    subscribe(CHILD_PROCESSES, this.onStart);
  }

  /** @param {{ name: string, test?: { errors: unknown[] } }} event of jest-circus */
  handleTestEvent(event) {
    if (event.test?.errors.length || /^error$|_failure$/.test(event.name)) this.hasFailed = true;
  }

  /** @override @throws Error for what the file has left open, unless a test has failed */
  async teardown() {
    try {
      unsubscribe(CHILD_PROCESSES, this.onStart);
      // A process that a failed test has left must not keep Jest from ending.
      await Promise.all([...this.processes].map(stop));
      if (!this.hasFailed) await this.expectNothingOpen();
    } finally {
      await super.teardown();
    }
  }

  /** @throws Error when something that the file has opened is not closed in time */
  async expectNothingOpen() {
    const deadline = performance.now() + CLOSE_LIMIT_MS;
    for (;;) {
      const open = difference(process.getActiveResourcesInfo(), this.before);
      if (open.length === 0) return;
      if (performance.now() > deadline) {
        throw new Error(`The test file has left open: ${open.join(', ')}`);
      }
      await delay(POLL_MS);
    }
  }
}

/**
 * @param {string} url
 * @returns {Promise<pg.Client>}
 */
async function connectClient(url) {
  const client = new pg.Client({ connectionString: url });
  // The server ends connections that a failed test has left. That must not hide the failure.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Returns the items that the second list has not, or not as often.
 *
 * @param {string[]} items
 * @param {string[]} others
 */
function difference(items, others) {
  const rest = [...others];
  return items.filter((item) => {
    const index = rest.indexOf(item);
    if (index >= 0) rest.splice(index, 1);
    return index < 0;
  });
}

/** @param {ChildProcess} child */
async function stop(child) {
  if (child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await exited;
  clearTimeout(limit);
}
