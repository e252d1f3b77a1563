// @ts-check
// Runs inside of the service (node --import). When the service listens, it sends requests through connections in
// memory, and measures the CPU time of the process for each block of requests. A recorded reply responds to every
// statement of the animals, so that neither sockets nor PostgreSQL take part.
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** @typedef {(sql: string, values: unknown[], toRow: (columns: unknown[]) => unknown, transaction?: unknown) => Promise<unknown[]>} Send */

const CONNECTIONS = 32;
/** The part of the blocks that is sent before. V8 needs about 50,000 requests to compile the service: 1,500 of 2,500 blocks. */
const WARM_UP = 0.6;
/** Pauses, in which V8 collects garbage and compiles, as it does while a service has no request. */
const BLOCKS_BETWEEN_PAUSES = 500;
const PAUSE_MS = 200;
/** After the service listens, its first timers run. */
const SETTLE_MS = 2_000;

const { port, blocks, statements, scenarios } = JSON.parse(process.env.REPLAY ?? '{}');

/** @type {http.Server[]} */
const servers = [];
const { createServer } = http;
Object.assign(http, {
  createServer: (/** @type {[any]} */ ...options) => {
    const server = createServer(...options);
    servers.push(server);
    server.once('listening', () => {
      const address = server.address();
      if (typeof address === 'object' && address?.port === port) void run(server);
    });
    return server;
  },
});
syncBuiltinESMExports();

/** @param {http.Server} server */
async function run(server) {
  try {
    await delay(SETTLE_MS);
    await replayStatements();
    /** @type {Record<string, { least: number, median: number }>} */
    const figures = {};
    for (const scenario of scenarios) figures[scenario.name] = await measure(server, scenario);
    process.send?.(figures, () => process.exit());
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

/** A connection without a socket. Calls `onResponse` for each write: the service writes a response at once. */
class Connection extends Duplex {
  remoteAddress = '127.0.0.1';
  remotePort = 1;
  bytesRead = 1;

  /** @param {(bytes: Buffer) => void} onResponse */
  constructor(onResponse) {
    super({ allowHalfOpen: true });
    this.onResponse = onResponse;
  }

  /** @override */
  _read() {
    // Nothing to fetch: `push` adds what arrives.
  }

  /** @override @type {Duplex['_write']} */
  _write(bytes, _encoding, done) {
    done();
    this.onResponse(bytes);
  }

  /** @override @type {NonNullable<Duplex['_writev']>} */
  _writev(chunks, done) {
    done();
    this.onResponse(Buffer.concat(chunks.map(({ chunk }) => chunk)));
  }

  address() {
    return { address: this.remoteAddress, port: 1, family: 'IPv4' };
  }

  resetAndDestroy() {
    this.destroy();
  }

  setTimeout() {
    return this;
  }

  setNoDelay() {
    return this;
  }

  setKeepAlive() {
    return this;
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }
}

/**
 * Measures blocks of one request on each connection.
 *
 * @param {http.Server} server
 * @param {{ name: string, request: string, status: number }} scenario
 * @throws if a response does not have the status of the scenario
 */
async function measure(server, { name, request: text, status }) {
  const request = Buffer.from(text);
  const statusLine = Buffer.from(`HTTP/1.1 ${status} `);
  let open = 0;
  let unexpected = 0;
  /** @type {() => void} */
  let end = () => undefined;
  const onResponse = (/** @type {Buffer} */ bytes) => {
    if (!bytes.subarray(0, statusLine.length).equals(statusLine)) unexpected++;
    if (--open === 0) setImmediate(end);
  };
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection(onResponse));
  for (const connection of connections) server.emit('connection', connection);
  const sendOn = (/** @type {Connection[]} */ chosen) =>
    new Promise((resolve) => {
      open = chosen.length;
      end = () => resolve(undefined);
      for (const connection of chosen) connection.push(request);
    });
  // The first statements record the reply.
  await sendOn(connections.slice(0, 1));
  await sendOn(connections.slice(0, 1));
  for (let block = 0; block < WARM_UP * blocks; block++) await sendOn(connections);
  /** @type {number[]} */
  const times = [];
  for (let block = 0; block < blocks; block++) {
    const before = process.cpuUsage();
    await sendOn(connections);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / CONNECTIONS);
    if (block % BLOCKS_BETWEEN_PAUSES === 0) await delay(PAUSE_MS);
  }
  for (const connection of connections) connection.destroy();
  if (unexpected > 0) throw new Error(`${name}: ${unexpected} responses do not have ${status}.`);
  times.sort((a, b) => a - b);
  // The hundredth part is as free of noise as the very least, and does not depend on one block.
  const at = (/** @type {number} */ part) => times[Math.floor(times.length * part)] ?? NaN;
  return { least: at(0.01), median: at(0.5) };
}

/** Makes the statements of the animals return what their first call returned, without PostgreSQL. */
async function replayStatements() {
  const { PipelinedStatements } = await import(pathToFileURL(statements).href);
  for (const name of ['read', 'insert']) replayMethod(PipelinedStatements.prototype, name);
}

/** @param {Record<string, Send>} prototype @param {string} name */
function replayMethod(prototype, name) {
  const send = /** @type {Send} */ (prototype[name]);
  /** @type {Map<string, unknown[][]>} */
  const recorded = new Map();
  /** @type {(() => void)[]} */
  let waiting = [];
  const settleAll = () => {
    const all = waiting;
    waiting = [];
    for (const settle of all) settle();
  };
  prototype[name] = function (sql, values, toRow, transaction) {
    const isOfAnimals = /\b(?:FROM|INTO) "?pets"?/.test(sql) && transaction === undefined;
    if (!isOfAnimals) return send.call(this, sql, values, toRow, transaction);
    const rows = recorded.get(sql);
    if (!rows) {
      const record = (/** @type {unknown[]} */ columns) => {
        recorded.set(sql, [...(recorded.get(sql) ?? []), [...columns]]);
        return toRow(columns);
      };
      return send.call(this, sql, values, record, transaction);
    }
    return new Promise((resolve) => {
      const count = waiting.push(() => resolve(rows.map((columns) => toRow([...columns]))));
      // As the statements of a batch, they end together.
      if (count === 1) setImmediate(settleAll);
    });
  };
}
