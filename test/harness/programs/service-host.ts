// Runs applications and commands for one worker of the tests. Loading the code takes ten times as long as creating an
// application or running a command, so it is loaded once. Each connection is one application or one
// command. The first line creates an application: { env, nowMs, app, features }. A later line sets its clock:
// { nowMs }, calls a method of a provider, as its schedule would: { job }, or asks for its metrics: {}, also after it has closed the
// connections without a request: { isClosing }. The host sends { port }, { nowMs }, { job } or { failure }, { metrics } and the lines of the log. The
// application closes with its connection. Or the first line runs a command: { env, command }, and the host sends
// { code, stdout, stderr }. A later command with the same environment, app and features uses the same application, until the first
// line of a connection is {}. Or the first line runs a command of schema.ts: { env, schema }, and the host sends { result }. The
// process ends with its input.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import {
  type INestApplication,
  type INestApplicationContext,
  Logger,
  Module,
  type Type,
} from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { AppModule } from '../../../src/app.module.js';
import { COMMANDS } from '../../../src/commands.js';
import {
  type OpenApplication,
  openApplication,
} from '../../../src/platform/commands/application.js';
import { type Project, run } from '../../../src/platform/commands/program.js';
import { Terminal } from '../../../src/platform/commands/terminal.js';
import { createApp } from '../../../src/platform/process/app.js';
import { Settings } from '../../../src/platform/config/settings.js';
import { locateDatabase } from '../../../src/platform/database/database-location.js';
import { currentRequestIds } from '../../../src/platform/http/request/request-context.middleware.js';
import { createLogger } from '../../../src/platform/logging/logger.js';
import { NestLogger } from '../../../src/platform/logging/nest-logger.js';
import { ServiceMetrics } from '../../../src/platform/metrics/service-metrics.js';
import { PLANS } from '../../../src/plans.js';
import { PRODUCT } from '../../../src/product.js';
import { withEnvironment } from './environment.js';
import { stopSchedules } from './scheduled-jobs.js';

type Environment = Record<string, string>;

interface Start {
  env?: Environment;
  nowMs: number;
  /** Whether it has the AppModule of src/ instead of that of the tests, or the path of a file with another one. */
  app: boolean | string;
  features: string[];
  command?: string[];
  schema?: string;
}

interface Later {
  nowMs?: number;
  job?: string;
  isClosing?: boolean;
}

/** The AppModule and the commands of src/ (product.mjs). */
const TEAM = '../../../src/team.module.js';
const TEAM_COMMANDS = '../../../src/team.commands.js';
/** It uses the migrations and entities of src/ only. */
const TEAM_SCHEMA = '../../../../team/test/harness/programs/schema.js';

const send = (socket: Socket, message: object) =>
  socket.writable && socket.write(`${JSON.stringify(message)}\n`);

/** The logger of the last application, which a command replaces in this process. */
let serviceLogger: NestLogger | undefined;

const host = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  serve(socket).catch((error: unknown) => {
    send(socket, { failure: error instanceof Error ? error.stack : String(error) });
    socket.end();
  });
});

/** The applications of commands, by the class of their root module. */
type Applications = Map<string, INestApplicationContext>;

/** By what is the same for several commands. */
const kept = new Map<string, Applications>();

function applicationsOf({ env, app, features }: Start): Applications {
  const key = JSON.stringify([env, app, features]);
  const applications = kept.get(key) ?? new Map<string, INestApplicationContext>();
  kept.set(key, applications);
  return applications;
}

/** Returns what opens an application, and keeps it for the next command. */
function keepIn(applications: Applications): OpenApplication {
  return async (root, objects, anySchema) => {
    // The schema was not checked.
    if (anySchema) return openApplication(root, objects, anySchema);
    let application = applications.get(root.name);
    if (!application) {
      application = (await openApplication(root, objects, false)) as INestApplicationContext;
      applications.set(root.name, application);
    }
    const opened = application;
    const { subscribers } = opened.get(DataSource);
    const own = subscribers.length;
    return Object.assign(Object.create(opened) as INestApplicationContext, {
      close: () => {
        subscribers.length = own;
        opened.get(Terminal).notes.length = 0;
        return Promise.resolve();
      },
    });
  };
}

async function closeAll(applications: Applications): Promise<void> {
  const open = [...applications.values()];
  applications.clear();
  for (const application of open) await application.close();
}

async function serve(socket: Socket): Promise<void> {
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const first = (await lines.next()).value as string;
  const start = JSON.parse(first) as Start;
  const { env, nowMs, command, schema } = start;
  if (env === undefined) {
    for (const applications of kept.values()) await closeAll(applications);
    kept.clear();
    socket.end();
    return;
  }
  if (command) {
    // One after the other, also because they share the output streams.
    const result = await withEnvironment(env, async () => {
      const applications = applicationsOf(start);
      const store = { product: PRODUCT, plans: PLANS, commands: await commandsOf(start) };
      const open = keepIn(applications);
      return runCommand(command, { ...store, loadRoot: () => rootOf(start), open });
    });
    send(socket, result);
    socket.end();
    return;
  }
  if (schema !== undefined) {
    const { runOnSchema } = (await import(TEAM_SCHEMA)) as typeof import('./schema.js');
    send(socket, { result: await runOnSchema(schema, env) });
    socket.end();
    return;
  }
  const settings = new Settings(PRODUCT, env);
  const clock = {
    nowMs,
    elapsedMs: 0,
    now: () => clock.nowMs,
    monotonicMs: () => clock.elapsedMs,
    /** Time passes if it moves forward. An operator sets the clock if it moves back. */
    set: (ms: number) => {
      clock.elapsedMs += Math.max(0, ms - clock.nowMs);
      clock.nowMs = ms;
    },
  };
  const logger = createLogger(settings.logging, { write: (log) => send(socket, { log }) });
  const database = await locateDatabase(settings.database, 'service');
  const schemaReady = Promise.resolve();
  const objects = { settings, clock, logger, database, schemaReady };
  const app = await withEnvironment(env, async () => createApp(await rootOf(start), objects));
  stopSchedules(app);
  serviceLogger = new NestLogger(logger, currentRequestIds);
  await app.listen(settings.server.port, settings.server.host);
  const address = app.getHttpServer().address() as AddressInfo;
  send(socket, { port: address.port });
  for await (const line of lines) {
    const { nowMs, job, isClosing } = JSON.parse(line) as Later;
    if (nowMs !== undefined) clock.set(nowMs);
    // A client such as fetch keeps its connections.
    if (isClosing) app.getHttpServer().closeIdleConnections();
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

/** Returns the root module with an AppModule and with features. */
async function rootOf({ app, features }: Pick<Start, 'app' | 'features'>): Promise<Type> {
  const imports = [
    app === false ? AppModule : await rootIn(app === true ? TEAM : app),
    ...(await Promise.all(features.map(modulesOf))).flat(),
  ];
  @Module({ imports })
  class Root {}
  return Root;
}

async function rootIn(file: string): Promise<Type> {
  return ((await import(file)) as { AppModule: Type }).AppModule;
}

/** @param job the class of a provider and its method, as in `LastUsed.write` */
async function runJob(app: INestApplication, job: string): Promise<object> {
  const [className, method = ''] = job.split('.');
  const providers = app.get(DiscoveryService).getProviders();
  try {
    const provider = providers.find(({ name }) => name === className);
    await (provider?.instance as Record<string, () => Promise<unknown>>)[method]?.();
    return { job };
  } catch (error) {
    return { job, failure: String(error) };
  }
}

/** Runs a command as in a process of its own. */
async function runCommand(args: string[], project: Project): Promise<{ code: number }> {
  const streams = { stdout: process.stdout, stderr: process.stderr };
  const printed = { stdout: '', stderr: '' };
  for (const [name, stream] of Object.entries(streams)) {
    stream.write = (text: unknown, done: unknown) => {
      printed[name as keyof typeof printed] += String(text);
      if (typeof done === 'function') done();
      return true;
    };
  }
  try {
    return { code: await run(args, project), ...printed };
  } finally {
    if (serviceLogger) Logger.overrideLogger(serviceLogger);
    // The method of the prototype is used again.
    for (const stream of Object.values(streams)) delete (stream as { write?: unknown }).write;
    process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM');
  }
}

async function modulesOf(file: string): Promise<Type[]> {
  return ((await import(file)) as { default: Type[] }).default;
}

type Commands = Project['commands'];

/** Returns the commands of the AppModule and of the features. */
async function commandsOf({ app, features }: Pick<Start, 'app' | 'features'>): Promise<Commands> {
  const files = [...(app ? [TEAM_COMMANDS] : []), ...features];
  const groups = files.map(
    async (file) => ((await import(file)) as { COMMANDS?: Commands }).COMMANDS ?? {},
  );
  const own: Commands = app ? {} : COMMANDS;
  return Object.assign({}, own, ...(await Promise.all(groups))) as Commands;
}

host.listen(0, '127.0.0.1');
await once(host, 'listening');
process.stdout.write(`${(host.address() as AddressInfo).port}\n`);
process.stdin.resume().once('end', () => process.exit(0));
