import type { MigrationInterface } from 'typeorm';
import { CreateStore1795132800000 } from './1795132800000-create-store.js';
import { KeepFirstAnswers1795219200000 } from './1795219200000-keep-first-answers.js';
import { AddEventsAndKeyProofs1795741200000 } from './1795741200000-add-events-and-key-proofs.js';

/** All migrations, oldest first. They need no `down`, because a schema only goes forward. */
export const migrations: (new () => Pick<MigrationInterface, 'name' | 'up'>)[] = [
  CreateStore1795132800000,
  KeepFirstAnswers1795219200000,
  AddEventsAndKeyProofs1795741200000,
];
