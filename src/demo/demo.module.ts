import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { AdministrationModule } from '../platform/access/administration/administration.module.js';
import { KeyAdministration } from '../platform/access/administration/key-administration.js';
import { ApiKey } from '../platform/access/api-key.entity.js';
import { hashKey } from '../platform/access/key-format.js';
import { Owner } from '../platform/access/owner.entity.js';
import { readTextFile } from '../platform/config/text-file.js';
import { DatabaseLocation } from '../platform/database/database-location.js';
import { DemoKey } from '../platform/http/openapi/demo-key.js';
import type { PLANS } from '../plans.js';
import { addDemoAnimals, hasDemo } from './demo.repository.js';

const DEMO_OWNER = 'demo';
const NAME: keyof typeof PLANS = 'business';
const PLAN = { plan: NAME, limitPerMinute: null, limitPerDay: null };

/**
 * Adds the demo data of the embedded database once: a few animals, and an owner with an API key.
 * It never restores removed data. An API key that is valid becomes the demo API key.
 */
@Module({ imports: [AdministrationModule] })
export class DemoModule implements OnApplicationBootstrap {
  constructor(
    private readonly manager: EntityManager,
    private readonly location: DatabaseLocation,
    private readonly demoKey: DemoKey,
    private readonly keys: KeyAdministration,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!this.location.embedded || this.location.processKind === 'command') return;
    const { file } = this.demoKey;
    await this.manager.transaction(async (transaction) => {
      if (await hasDemo(transaction)) return;
      // An operator may have created an owner of this name, with another plan.
      const exists = await transaction.existsBy(Owner, { name: DEMO_OWNER });
      const { key, id } = await this.keys.issue(DEMO_OWNER, exists ? undefined : PLAN);
      await addDemoAnimals(transaction, { demoKeyId: id, isNewOwner: !exists });
      // Written before the commit. If the start is interrupted here, the next one replaces it.
      await writeKeyFile(file, key);
    });
    const key = existsSync(file) ? readTextFile(file).trim() : '';
    const hash = Buffer.from(hashKey(key), 'hex');
    const record = await this.manager.findOneBy(ApiKey, { hash });
    if (record && /active|rotated/.test(record.status)) this.demoKey.offer(key, '/v1/pets');
  }
}

/** Only the user who runs the service can read the file. It is on the disk when this resolves. */
async function writeKeyFile(path: string, key: string): Promise<void> {
  await rm(path, { force: true });
  // 'wx' creates the file: an existing file or link could belong to another user.
  await writeFile(path, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
}
