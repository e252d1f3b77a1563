// @ts-check
// Runs applications and commands for one worker of the tests, from its copy in reports/product. Loading the code takes ten times as
// long as creating an application or running a command, so it is loaded once. Each connection is one application or one
// command. The first line creates an application: { env, nowMs, app, features }. A later line sets its clock:
// { nowMs }, calls a method of a provider, as its schedule would: { job }, or asks for its metrics: {}. The host sends { port }, { nowMs }, { job } or
// { failure }, { metrics } and the lines of the log. The
// application closes with its connection. Or the first line runs a command: { env, command }, and the host sends
// { code, stdout, stderr }. The process ends with its input.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { DiscoveryService } from '@nestjs/core';
import { createApp } from '#dist/platform/app.js';
import { AppModule } from '#dist/app.module.js';
import { run } from '#dist/cli/program.js';
import { Settings } from '#dist/platform/config/settings.js';
import { locateDatabase } from '#dist/platform/database/database-location.js';
import { createLogger } from '#dist/platform/logging/logger.js';
import { ServiceMetrics } from '#dist/platform/metrics/service-metrics.js';

/**
 * @param {import('node:net').Socket} socket
 * @param {object} message
 */
const send = (socket, message) => socket.writable && socket.write(`${JSON.stringify(message)}\n`);

/** The AppModule of src/. */
const TEAM = '#dist/team.module.js';

let lastCommand = Promise.resolve();

const host = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  serve(socket).catch((/** @type {unknown} */ error) => {
    send(socket, { failure: error instanceof Error ? error.stack : String(error) });
    socket.end();
  });
});

/** @param {import('node:net').Socket} socket */
async function serve(socket) {
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const { env, nowMs, app: withTeam, features, command } = JSON.parse((await lines.next()).value);
  if (command) {
    // One after the other, because they share the environment and the output streams.
    lastCommand = lastCommand.then(async () => {
      send(socket, await runCommand(command, env));
      socket.end();
    });
    return;
  }
  const settings = new Settings(env);
  const clock = {
    nowMs,
    elapsedMs: 0,
    now: () => clock.nowMs,
    monotonicMs: () => clock.elapsedMs,
    /** Time passes if it moves forward. An operator sets the clock if it moves back. */
    set: (/** @type {number} */ ms) => {
      clock.elapsedMs += Math.max(0, ms - clock.nowMs);
      clock.nowMs = ms;
    },
  };
  const app = await createApp(
    {
      settings,
      clock,
      database: await locateDatabase(settings.database, 'service'),
      features: [
        withTeam ? (await import(TEAM)).AppModule : AppModule,
        ...(await Promise.all(features.map(modulesOf))).flat(),
      ],
    },
    createLogger(settings.logging.level, { write: (log) => send(socket, { log }) }),
  );
  await app.listen(settings.server.port, settings.server.host);
  const address = /** @type {import('node:net').AddressInfo} */ (app.getHttpServer().address());
  send(socket, { port: address.port });
  for await (const line of lines) {
    const { nowMs, job } = JSON.parse(line);
    if (nowMs !== undefined) clock.set(nowMs);
    if (job !== undefined) void runJob(app, job).then((result) => send(socket, result));
    else
      send(
        socket,
        nowMs === undefined ? { metrics: await app.get(ServiceMetrics).text() } : { nowMs },
      );
  }
  await app.close();
  socket.end();
}

/**
 * @param {import('@nestjs/common').INestApplication} app
 * @param {string} job the class of a provider and its method, as in `LastUsed.write`
 */
async function runJob(app, job) {
  const [className, method = ''] = job.split('.');
  const providers = app.get(DiscoveryService).getProviders();
  try {
    const provider = providers.find(({ name }) => name === className);
    await provider?.instance[method]();
    return { job };
  } catch (error) {
    return { job, failure: String(error) };
  }
}

/**
 * Runs a command as in a process of its own.
 *
 * @param {string[]} args
 * @param {Record<string, string>} env
 */
async function runCommand(args, env) {
  const { env: ownEnv } = process;
  const streams = { stdout: process.stdout, stderr: process.stderr };
  const printed = { stdout: '', stderr: '' };
  for (const [name, stream] of Object.entries(streams)) {
    stream.write = (/** @type {any} */ text, /** @type {any} */ done) => {
      printed[/** @type {keyof printed} */ (name)] += String(text);
      if (typeof done === 'function') done();
      return true;
    };
  }
  process.env = env;
  try {
    return { code: await run(args), ...printed };
  } finally {
    process.env = ownEnv;
    // @ts-expect-error -- The method of the prototype is used again.
    for (const stream of Object.values(streams)) delete stream.write;
    process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM');
  }
}

/**
 * @param {string} file
 * @returns {Promise<import('@nestjs/common').Type[]>}
 */
async function modulesOf(file) {
  return (await import(file)).default;
}

host.listen(0, '127.0.0.1');
await once(host, 'listening');
const address = /** @type {import('node:net').AddressInfo} */ (host.address());
process.stdout.write(`${address.port}\n`);
process.stdin.resume().once('end', () => process.exit(0));
