import type { MigrationInterface } from 'typeorm';
import { CreateStore1795132800000 } from './1795132800000-create-store.js';
import { KeepFirstAnswers1795219200000 } from './1795219200000-keep-first-answers.js';
import { AddOutboxEvents1795305600000 } from './1795305600000-add-outbox-events.js';
import { AddKeySecret1795395600000 } from './1795395600000-add-key-secret.js';
import { IndexEventsByHandler1795482000000 } from './1795482000000-index-events-by-handler.js';
import { LinkEventsToRequests1795568400000 } from './1795568400000-link-events-to-requests.js';
import { IndexRotations1795654800000 } from './1795654800000-index-rotations.js';

/** All migrations, oldest first. They need no `down`, because a schema only goes forward. */
export const migrations: (new () => Pick<MigrationInterface, 'name' | 'up'>)[] = [
  CreateStore1795132800000,
  KeepFirstAnswers1795219200000,
  AddOutboxEvents1795305600000,
  AddKeySecret1795395600000,
  IndexEventsByHandler1795482000000,
  LinkEventsToRequests1795568400000,
  IndexRotations1795654800000,
];
