import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestDatabase } from '../database/database.js';
import { Cli, PROGRAM, TEAM_PROGRAM } from '../processes/command.js';
import { type Environment, inheritedEnvironment } from '../service/service.js';
import { type CommandBlock, nameOf } from './command-blocks.js';
import { Shell } from './shell.js';

const folders: string[] = [];
const shells: Shell[] = [];

/** Ends the shells of a test, and removes its folders. */
export async function endShells(): Promise<void> {
  for (const shell of shells.splice(0)) await shell.end();
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
}

/**
 * Returns a command that starts a service in the background, as `$service`, and waits until it responds on
 * port 3000.
 */
export const untilReady = (command: string): string => `
  setsid ${command} > service.log 2>&1 &
  service=$!
  for attempt in $(seq 600); do
    curl --silent --output /dev/null http://127.0.0.1:3000/health/ready && break
    kill -0 $service && sleep 0.1
  done
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

/** Creates programs that take the place of others. Returns the PATH that has them. */
export function pathWith(scripts: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, script] of Object.entries(scripts))
    fs.writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return `${folder}:${process.env['PATH']}`;
}

/** Runs the commands of pages for operators, in a folder of a checkout. */
export class Operator {
  readonly folder = temporaryFolder();
  private readonly parsed = join(this.folder, 'arguments');
  private readonly shell: Shell;
  private readonly cli: Cli;

  /**
   * @param settings in addition to those of the database
   * @param app whether the commands are those of the team, instead of the platform's tests
   */
  constructor(database: TestDatabase, settings: Environment = {}, { app }: { app?: true } = {}) {
    fs.mkdirSync(join(this.folder, 'src'));
    fs.writeFileSync(join(this.folder, 'src/app.module.ts'), '');
    const own = { ...settings, DATABASE_URL: database.url };
    const program = app ? TEAM_PROGRAM : PROGRAM;
    // The host of this worker has loaded the code, and runs most commands. Those that write to a pipe, read standard input (`-`) or are
    // named below run in a process of their own.
    const PATH = pathWith({
      pets: `[ -p /dev/stdout ] && exec node ${program} "$@"
      case "$*" in
        *" -"|*export*|*generate*|*copy-embedded*) exec node ${program} "$@" ;;
        *) printf '%s\\0' "$@" > ${this.parsed} ;;
      esac`,
    });
    const DATA_DIR = join(this.folder, 'none');
    this.shell = openShell(this.folder, { ...inheritedEnvironment(), ...own, DATA_DIR, PATH });
    this.cli = new Cli(own, app ? { app } : {});
  }

  /**
   * Runs a line of a block, and returns its standard output.
   *
   * @param input for a command that reads from standard input
   * @throws Error that names the block if the command fails
   */
  async run(block: CommandBlock, line: string, input = ''): Promise<string> {
    fs.rmSync(this.parsed, { force: true });
    const output = await this.shell.run(block, line, input);
    if (!fs.existsSync(this.parsed)) return output;
    const args = fs
      .readFileSync(this.parsed, 'utf8')
      .split('\0')
      .slice(0, -1)
      // The host has another working directory, so the name of a CSV file becomes its path.
      .map((word) => (word.endsWith('.csv') ? join(this.folder, word) : word));
    const result = await this.cli.run(...args);
    if (result.code === 0) return result.stdout;
    throw new Error(`${nameOf(block)} has failed:\n${line}\n${result.stderr}`);
  }
}
