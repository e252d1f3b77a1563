import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const COPIED =
  /^(?:src|scripts|(?:package|package-lock|tsconfig|tsconfig\.build|nest-cli)\.json|jest\.config\.js|\.dependency-cruiser\.js|\.swcrc)$/;

/** A copy of the project, without its build. It lies in the project, so that Node finds the packages. */
export class ProjectCopy {
  readonly folder: string;
  private readonly parent: string;

  /** @param name of the folder, or a path of folders */
  constructor(name = 'copy') {
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

  /** Gives it the build of the project, which is built once. It must have the same sources. */
  addBuild(): void {
    execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs')]);
    cpSync(join(ROOT, 'dist'), this.path('dist'), { recursive: true });
  }

  remove(): void {
    rmSync(this.parent, { recursive: true, force: true });
  }
}
