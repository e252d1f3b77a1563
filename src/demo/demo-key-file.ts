import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const OWNER_ONLY = 0o600;

/** The file with the demo owner's API key. Only the user who runs the service can read it. */
export class DemoKeyFile {
  private readonly path: string;

  /** @param dataDir an existing folder */
  constructor(dataDir: string) {
    this.path = join(dataDir, 'demo-key');
  }

  /** Replaces the stored key. The key is on the disk when this resolves. The write is atomic. */
  async write(key: string): Promise<void> {
    const draft = `${this.path}.new`;
    // An interrupted start may have left a draft.
    await rm(draft, { force: true });
    // 'wx' creates the file: an existing file or link could belong to another user.
    const file = await open(draft, 'wx', OWNER_ONLY);
    try {
      await file.writeFile(`${key}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
  }

  /** Returns the stored key, or null if the file cannot be read. */
  async read(): Promise<string | null> {
    try {
      return (await readFile(this.path, 'utf8')).trim();
    } catch {
      return null;
    }
  }
}
