import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const COPIED =
  /^(?:src|scripts|(?:package|package-lock|tsconfig|tsconfig\.build|nest-cli)\.json|jest\.config\.js|\.dependency-cruiser\.js|\.swcrc)$/;

/** A copy of the project, without its build. It lies in the project, so that Node finds the packages. */
export class ProjectCopy {
  readonly folder: string;
  private readonly parent: string;
  /** For DATA_DIR. The embedded server runs as another user, who must reach this folder. */
  readonly dataDir = mkdtempSync(join(tmpdir(), 'project-data-'));

  /** @param name of the folder, or a path of folders */
  constructor(name = 'copy') {
    chmodSync(this.dataDir, 0o755);
    const reports = join(ROOT, 'reports');
    mkdirSync(reports, { recursive: true });
    this.parent = mkdtempSync(join(reports, 'project-'));
    this.folder = join(this.parent, name);
    for (const file of readdirSync(ROOT).filter((file) => COPIED.test(file))) {
      cpSync(join(ROOT, file), this.path(file), { recursive: true });
    }
  }

  /** @param name relative to the folder of the copy */
  path(name: string): string {
    return join(this.folder, name);
  }

  /** Builds it, as `npm start` does. */
  build(): void {
    execFileSync(process.execPath, [this.path('scripts/build.mjs')]);
  }

  remove(): void {
    for (const folder of [this.parent, this.dataDir]) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
