import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const COPIED =
  /^(?:src|scripts|dist|(?:package|package-lock|tsconfig|tsconfig\.build|nest-cli)\.json)$/;

/** A copy of the project and its build. It lies in the project, so that Node finds the packages. */
export class ProjectCopy {
  readonly folder: string;
  /** For DATA_DIR. The embedded server runs as another user, who must reach this folder. */
  readonly dataDir = mkdtempSync(join(tmpdir(), 'project-data-'));

  constructor() {
    chmodSync(this.dataDir, 0o755);
    const reports = join(ROOT, 'reports');
    mkdirSync(reports, { recursive: true });
    this.folder = mkdtempSync(join(reports, 'project-'));
    for (const name of readdirSync(ROOT).filter((name) => COPIED.test(name))) {
      cpSync(join(ROOT, name), this.path(name), { recursive: true });
    }
  }

  /** @param name relative to the folder of the copy */
  path(name: string): string {
    return join(this.folder, name);
  }

  remove(): void {
    for (const folder of [this.folder, this.dataDir]) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
