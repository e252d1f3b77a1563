import type { EntityManager } from 'typeorm';
import { AdministrationError } from '../auth/administration/administration-error.js';
import { AdministrationRepository } from '../auth/administration/administration.repository.js';
import { KeyAdministration } from '../auth/administration/key-administration.js';
import { currentOperator } from '../auth/administration/operator.js';
import { DemoKeyFile } from './demo-key-file.js';
import { DemoRepository } from './demo.repository.js';
import { SAMPLE_ANIMALS } from './sample-animals.js';

export const DEMO_OWNER = 'demo';

/** What a newcomer finds in the embedded database: a few animals, and an owner with a key. */
export class Demo {
  private readonly keyFile: DemoKeyFile;

  /** @param dataDir where the key is kept */
  constructor(
    private readonly manager: EntityManager,
    dataDir: string,
  ) {
    this.keyFile = new DemoKeyFile(dataDir);
  }

  /** Returns the demo owner's key, or null when there is none that works. */
  async prepare(): Promise<string | null> {
    await this.addOnce();
    return this.findWorkingKey();
  }

  /** Adds all of it to a database that never had it; what was removed from one does not come back. */
  private async addOnce(): Promise<void> {
    await this.manager.transaction(async (manager) => {
      const repository = new DemoRepository(manager);
      if (!(await repository.markAdded(currentOperator()))) return;
      await repository.insertAnimals(SAMPLE_ANIMALS);
      const { key } = await issueKey(keysOf(manager));
      // Before the commit: of a start that is interrupted in between, the next one replaces the file.
      await this.keyFile.write(key);
    });
  }

  private async findWorkingKey(): Promise<string | null> {
    const key = await this.keyFile.read();
    if (key === null) return null;
    try {
      const { status } = await keysOf(this.manager).inspectKey(key);
      return status === 'active' ? key : null;
    } catch (error) {
      if (error instanceof AdministrationError) return null;
      throw error;
    }
  }
}

function keysOf(manager: EntityManager): KeyAdministration {
  return new KeyAdministration(new AdministrationRepository(manager), currentOperator());
}

async function issueKey(keys: KeyAdministration) {
  try {
    return await keys.issue({ owner: DEMO_OWNER, plan: { plan: 'business' } });
  } catch (error) {
    if (!(error instanceof AdministrationError)) throw error;
    // An operator was here first, and has made an owner of this name with another plan.
    return keys.issue({ owner: DEMO_OWNER });
  }
}
