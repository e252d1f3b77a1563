import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const OWNER_ALONE = 0o600;

/** Where the key of the demo owner is kept, readable by whoever runs the service alone. */
export class DemoKeyFile {
  private readonly path: string;

  /** @param dataDir an existing folder */
  constructor(dataDir: string) {
    this.path = join(dataDir, 'demo-key');
  }

  /** Keeps a key in the place of any other. It is on the disk when this resolves, whole or not at all. */
  async write(key: string): Promise<void> {
    const draft = `${this.path}.new`;
    // One that was left by a start that was interrupted.
    await rm(draft, { force: true });
    // Only a file made here: an existing one, or a link, could be somebody else's.
    const file = await open(draft, 'wx', OWNER_ALONE);
    try {
      await file.writeFile(`${key}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
  }

  /** Returns what is in the file, or null when it cannot be read. */
  async read(): Promise<string | null> {
    try {
      return (await readFile(this.path, 'utf8')).trim();
    } catch {
      return null;
    }
  }
}
