import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { PACKAGES } from '../run/packages.js';
import { type BuiltService, startBuiltService } from '../service/service.js';
import { Cli } from './command.js';

const ROOT = resolve(__dirname, '../../..');

/** What `npm run typecheck` knows after it has run. */
const TYPES = 'reports/types.tsbuildinfo';

/** Runs a command of Git in the project, and returns its output. */
export const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 });

/** What a team has: a copy of the whole project with packages of its own. It lies in the project, so that Node.js finds the files. */
export class AdoptedCopy {
  readonly folder: string;
  private readonly dataDir = fs.mkdtempSync(join(tmpdir(), 'adopted-data-'));
  private service: BuiltService | undefined;

  constructor() {
    fs.mkdirSync(join(ROOT, 'reports'), { recursive: true });
    this.folder = fs.mkdtempSync(join(ROOT, 'reports', 'adopted-'));
    // The embedded server runs as another user, who must reach both.
    for (const folder of [this.folder, this.dataDir]) fs.chmodSync(folder, 0o755);
  }

  /** Adds the files of the project, also those without a commit. */
  withFiles(): this {
    const files = git('ls-files', '-co', '--exclude-standard').split('\n').filter(Boolean);
    for (const file of files.filter((file) => fs.existsSync(join(ROOT, file))))
      fs.cpSync(join(ROOT, file), this.path(file));
    // The types of files that do not change are not checked again.
    if (fs.existsSync(join(ROOT, TYPES))) fs.cpSync(join(ROOT, TYPES), this.path(TYPES));
    return this;
  }

  withPackages(): this {
    // Hard links, because packages of symbolic links would be those of the project.
    execFileSync('cp', ['-al', PACKAGES, this.folder]);
    return this;
  }

  path(file: string): string {
    return join(this.folder, file);
  }

  write(file: string, text: string): void {
    fs.mkdirSync(dirname(this.path(file)), { recursive: true });
    fs.writeFileSync(this.path(file), text);
  }

  /** Replaces texts of a file. Each of them must be there. */
  change(file: string, ...changes: [from: string | RegExp, to: string][]): void {
    let text = fs.readFileSync(this.path(file), 'utf8');
    for (const [from, to] of changes) {
      const changed = text.replace(from, to);
      expect({ file, from, isChanged: changed !== text }).toMatchObject({ isChanged: true });
      text = changed;
    }
    this.write(file, text);
  }

  remove(...files: string[]): void {
    for (const file of files) fs.rmSync(this.path(file), { recursive: true });
  }

  /** Runs a command, which has to succeed, in the folder of the copy. Returns its standard output. */
  run(command: string, ...args: string[]): string {
    const options = { cwd: this.folder, encoding: 'utf8', maxBuffer: 1e8 } as const;
    const { status, stdout, stderr } = spawnSync(command, args, options);
    const failure = status === 0 ? '' : stdout + stderr;
    expect(`${[command, ...args].join(' ')}\n${failure}`).toBe(`${[command, ...args].join(' ')}\n`);
    return stdout;
  }

  /** Starts the build on an embedded database. Returns its address and the headers of a caller with a new API key. */
  async start(): Promise<{ url: string; headers: Record<string, string> }> {
    this.service = await startBuiltService({ DATA_DIR: this.dataDir }, this.path('dist/main.js'));
    const cli = new Cli({ DATA_DIR: this.dataDir }, {}, this.path('dist/cli/main.js'));
    const { key } = await cli.json('keys', 'issue', '--owner', 'team', '--plan', 'business');
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    return { url: this.service.url, headers };
  }

  /** Stops what runs, and removes the copy. */
  async end(): Promise<void> {
    // With a signal, it asks for no metrics, whose names the copy may have changed.
    await this.service?.stop('SIGTERM');
    for (const folder of [this.folder, this.dataDir]) fs.rmSync(folder, { recursive: true });
  }
}
