import { once } from 'node:events';
import * as fs from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestDatabase } from '../database/database.js';
import { Cli, PROGRAM, TEAM_PROGRAM } from '../processes/command.js';
import { NODE } from '../processes/node.js';
import { type Environment, inheritedEnvironment } from '../service/service.js';
import type { CommandBlock } from './command-blocks.js';
import { Shell } from './shell.js';

const folders: string[] = [];
const shells: Shell[] = [];
const servers: Server[] = [];

/** Ends the shells of a test, and removes its folders. */
export async function endShells(): Promise<void> {
  for (const shell of shells.splice(0)) await shell.end();
  for (const server of servers.splice(0)) server.close();
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
}

/**
 * Returns a command that starts a service in the background, as `$service`, and waits until it responds on
 * port 3000.
 */
export const untilReady = (command: string): string => `
  setsid ${command} > service.log 2>&1 &
  service=$!
  grep --quiet --max-count=1 '"msg":"listening"' < <(tail --follow --lines=+1 --pid=$service service.log) || true
  curl --silent --fail http://127.0.0.1:3000/health/ready || { cat service.log; false; }`;

/** Opens a shell that ends with `endShells`. Its parameters are those of `Shell`. */
export function openShell(...options: ConstructorParameters<typeof Shell>): Shell {
  const shell = new Shell(...options);
  shells.push(shell);
  return shell;
}

/** Returns a new folder that the user of PostgreSQL can reach. */
export function temporaryFolder(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'pets-pages-'));
  fs.chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** Creates programs that take the place of others, of scripts for `sh` or another shell. Returns the PATH that has them. */
export function pathWith(scripts: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, script] of Object.entries(scripts)) {
    const shell = script.startsWith('#!') ? '' : '#!/bin/sh\n';
    fs.writeFileSync(join(folder, name), `${shell}${script}\n`, { mode: 0o755 });
  }
  return `${folder}:${process.env['PATH']}`;
}

/**
 * Returns a script that runs a command in the host of this worker, which has loaded the code. A command that reads standard input (`-`) or
 * writes to the working directory (`generate`) runs in a process of its own.
 *
 * @param settings in addition to the DATABASE_URL of the shell
 * @param app whether the commands are those of the team, instead of the platform's tests
 */
export async function hostedProgram(
  settings: Environment = {},
  { app }: { app?: true } = {},
): Promise<string> {
  const server = createServer((socket) => {
    runForShell(socket, settings, app ? { app } : {}).catch(() => socket.destroy());
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return `#!/bin/bash
    case " $* " in *" - "*|*" generate "*) exec ${NODE.join(' ')} ${app ? TEAM_PROGRAM : PROGRAM} "$@" ;; esac
    exec 3<>/dev/tcp/127.0.0.1/${port}
    printf '%s\\0' $# "$PWD" "$DATABASE_URL" "$@" >&3
    read -r code <&3
    IFS= read -r -d '' errors <&3
    printf %s "$errors" >&2
    cat <&3
    exit \${code:-1}`;
}

/** Runs the command that the script sends, and sends its exit code, standard error and standard output. */
async function runForShell(
  socket: Socket,
  settings: Environment,
  options: { app?: true },
): Promise<void> {
  let received = '';
  const [folder, url, args] = await new Promise<[string, string, string[]]>((resolve, reject) => {
    socket.once('error', reject).setEncoding('utf8');
    socket.on('data', (part: string) => {
      received += part;
      const [count, folder = '', url = '', ...words] = received.split('\0');
      if (words.length > Number(count)) resolve([folder, url, words.slice(0, -1)]);
    });
  });
  // The host has another working directory, so the name of a CSV file becomes its path.
  const words = args.map((word) => (word.endsWith('.csv') ? join(folder, word) : word));
  const cli = new Cli({ ...settings, DATABASE_URL: url }, options);
  const { code, stdout, stderr } = await cli.runInHost(...words);
  socket.end(`${code}\n${stderr}\0${stdout}`);
}

/** Runs the commands of pages for operators, in a folder of a checkout. */
export class Operator {
  private constructor(
    readonly folder: string,
    private readonly shell: Shell,
  ) {}

  /** The parameters are those of `hostedProgram`. */
  static async on(
    database: TestDatabase,
    settings: Environment = {},
    options: { app?: true } = {},
  ): Promise<Operator> {
    const folder = temporaryFolder();
    fs.mkdirSync(join(folder, 'src'));
    fs.writeFileSync(join(folder, 'src/app.module.ts'), '');
    const own = { ...settings, DATA_DIR: join(folder, 'none') };
    const PATH = pathWith({ pets: await hostedProgram(own, options) });
    const env = { ...inheritedEnvironment(), ...own, DATABASE_URL: database.url, PATH };
    return new Operator(folder, openShell(folder, env));
  }

  /**
   * Runs a line of a block, and returns its standard output.
   *
   * @param input for a command that reads from standard input
   * @throws Error that names the block if the command fails
   */
  run(block: CommandBlock, line: string, input = ''): Promise<string> {
    return this.shell.run(block, line, input);
  }
}
