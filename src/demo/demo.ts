import type { EntityManager } from 'typeorm';
import { AdministrationError } from '../auth/administration/administration-error.js';
import { AdministrationRepository } from '../auth/administration/administration.repository.js';
import { KeyAdministration } from '../auth/administration/key-administration.js';
import { currentOperator } from '../auth/administration/operator.js';
import { DemoKeyFile } from './demo-key-file.js';
import { DemoRepository } from './demo.repository.js';

export const DEMO_OWNER = 'demo';

/** The demo data of the embedded database: a few animals, and an owner with an API key. */
export class Demo {
  private readonly keyFile: DemoKeyFile;

  /** @param dataDir folder of the file with the API key */
  constructor(
    private readonly manager: EntityManager,
    dataDir: string,
  ) {
    this.keyFile = new DemoKeyFile(dataDir);
  }

  /**
   * Adds the demo data once: what an operator removed is not restored. Returns the demo API key, or
   * null if it is not valid.
   */
  async prepare(): Promise<string | null> {
    await this.manager.transaction(async (manager) => {
      const repository = new DemoRepository(manager);
      if (!(await repository.markAdded(currentOperator()))) return;
      await repository.insertAnimals();
      const { key } = await issueKey(keysOf(manager));
      // Written before the commit. If the start is interrupted here, the next one replaces it.
      await this.keyFile.write(key);
    });
    return this.findValidKey();
  }

  private async findValidKey(): Promise<string | null> {
    const key = await this.keyFile.read();
    if (key === null) return null;
    try {
      const { status } = await keysOf(this.manager).inspect(key);
      return status === 'active' || status === 'rotated' ? key : null;
    } catch (error) {
      if (error instanceof AdministrationError) return null;
      throw error;
    }
  }
}

function keysOf(manager: EntityManager): KeyAdministration {
  return new KeyAdministration(new AdministrationRepository(manager));
}

async function issueKey(keys: KeyAdministration) {
  try {
    const plan = { plan: 'business', limitPerMinute: null, limitPerDay: null } as const;
    return await keys.issue({ owner: DEMO_OWNER, plan });
  } catch (error) {
    if (!(error instanceof AdministrationError)) throw error;
    // An operator has already created an owner of this name with a different plan.
    return keys.issue({ owner: DEMO_OWNER });
  }
}
