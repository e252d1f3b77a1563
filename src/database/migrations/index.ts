import { CreateStore1795132800000 } from './1795132800000-create-store.js';

/** All migrations, oldest first. */
export const migrations = [CreateStore1795132800000];
