// @ts-check
// A feature that uses the database as a team's own code might.
import { Controller, Get, Inject, Module } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { Pet } from '#dist/pets/pet.entity.js';

const PLAN_SETTINGS = `
  SELECT current_setting('plan_cache_mode') AS "planCacheMode",
         current_setting('enable_seqscan') AS "enableSeqscan"`;

class DatabaseController {
  /** @param {import('typeorm').Repository<Pet>} pets */
  constructor(pets) {
    this.pets = pets;
  }

  /** Returns the settings that a query of a repository and one of a transaction have. */
  async planSettings() {
    const { manager } = this.pets;
    return {
      repository: await this.pets.query(PLAN_SETTINGS),
      transaction: await manager.transaction((transaction) => transaction.query(PLAN_SETTINGS)),
    };
  }
}
Inject(getRepositoryToken(Pet))(DatabaseController, undefined, 0);
Controller({ path: 'database', version: '1' })(DatabaseController);
/** @param {string} name @param {MethodDecorator} decorator */
const route = (name, decorator) =>
  decorator(
    DatabaseController.prototype,
    name,
    /** @type {PropertyDescriptor} */ (
      Object.getOwnPropertyDescriptor(DatabaseController.prototype, name)
    ),
  );
route('planSettings', Get('plan-settings'));

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class DatabaseFeatureModule {}
Module({ imports: [TypeOrmModule.forFeature([Pet])], controllers: [DatabaseController] })(
  DatabaseFeatureModule,
);

export default [DatabaseFeatureModule];
