import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');

/**
 * Creates a repository of the files of the project as they are, also those without a commit.
 *
 * @param paths the files as Git takes them; by default all
 */
export function createRepository(folder: string, ...paths: string[]): void {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 1e8 });
  const options = ['--cached', '--others', '--exclude-standard', '-z', ...paths];
  for (const name of git(ROOT, 'ls-files', ...options).split('\0')) {
    if (name && fs.existsSync(join(ROOT, name))) fs.cpSync(join(ROOT, name), join(folder, name));
  }
  git(folder, 'init', '--quiet', '--initial-branch=main');
  git(folder, 'add', '--all');
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];
  git(folder, ...author, 'commit', '--quiet', '--message=files');
}
