import { join } from 'node:path';
import type { EntityManager } from 'typeorm';
import { AdministrationError } from '../platform/access/administration/administration-error.js';
import { KeyAdministration } from '../platform/access/administration/key-administration.js';
import { readKeyFile, writeKeyFile } from './demo-key-file.js';
import { addDemoAnimals } from './demo.repository.js';

export const DEMO_OWNER = 'demo';

/**
 * Adds the demo data of the embedded database once: a few animals, and an owner with an API key.
 * What an operator removed is not restored. Returns the API key, or null if it is not valid.
 */
export async function addDemo(manager: EntityManager, dataDir: string): Promise<string | null> {
  const keyFile = join(dataDir, 'demo-key');
  await manager.transaction(async (transaction) => {
    if (!(await addDemoAnimals(transaction))) return;
    const { key } = await issueKey(new KeyAdministration(transaction));
    // Written before the commit. If the start is interrupted here, the next one replaces it.
    await writeKeyFile(keyFile, key);
  });
  const key = await readKeyFile(keyFile);
  if (key === null) return null;
  try {
    const { status } = await new KeyAdministration(manager).inspect(key);
    return status === 'active' || status === 'rotated' ? key : null;
  } catch (error) {
    if (error instanceof AdministrationError) return null;
    throw error;
  }
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
