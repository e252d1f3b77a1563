import type { EntityManager } from 'typeorm';
import { queryRows } from '../../database/sql.js';
import { Owner, type StoredPlan } from '../owner.entity.js';
import { AdministrationError } from './administration-error.js';
import { recordChange } from './operator-actions.repository.js';

const LIST_OWNERS = `
  SELECT owner.id, owner.name, owner.plan,
         owner.limit_per_minute AS "limitPerMinute", owner.limit_per_day AS "limitPerDay",
         count(key.id) FILTER (WHERE key.revoked_at IS NULL
                                 AND (key.expires_at IS NULL OR key.expires_at > now())) AS "activeKeys",
         owner.created_at AS "createdAt"
    FROM owners AS owner
    LEFT JOIN api_keys AS key ON key.owner_id = owner.id
   WHERE $1::text IS NULL OR owner.name = $1
   GROUP BY owner.id
   ORDER BY owner.name COLLATE "C"`;

/** An owner as operators see it. */
export interface OwnerRecord extends Owner {
  readonly activeKeys: bigint;
}

/** The operations on owners for operators. They work like those on API keys. */
export class OwnerAdministration {
  constructor(private readonly database: EntityManager) {}

  /** Returns all owners in the order of their names. */
  list(): Promise<OwnerRecord[]> {
    return queryRows<OwnerRecord>(this.database, LIST_OWNERS, [null]);
  }

  async get(name: string): Promise<OwnerRecord> {
    const [owner] = await queryRows<OwnerRecord>(this.database, LIST_OWNERS, [name]);
    if (owner) return owner;
    throw new AdministrationError(`The owner "${name}" does not exist.`);
  }

  /** Changes the owner's plan. Requests that the active windows have counted stay counted. */
  async setPlan(name: string, plan: StoredPlan): Promise<OwnerRecord> {
    return this.database.transaction(async (transaction) => {
      const lock = { mode: 'for_no_key_update' } as const;
      const previous = await transaction.findOne(Owner, { where: { name }, lock });
      await transaction.update(Owner, { name }, plan);
      const owner = await new OwnerAdministration(transaction).get(name);
      const changed = { ownerId: owner.id, owner: name };
      const details = { previousPlan: previous?.plan, ...plan };
      await recordChange(transaction, 'owners set-plan', changed, details);
      return owner;
    });
  }
}
