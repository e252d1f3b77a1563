import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const folders = createRequire(__filename).resolve.paths('jest') ?? [];

/** The folder `node_modules` with the packages of the project. In a workspace, it is that of the workspace. */
export const PACKAGES = folders.find((folder) => existsSync(join(folder, 'jest'))) ?? '';
