import { Injectable } from '@nestjs/common';
import { EntityManager, type FindOptionsWhere, IsNull } from 'typeorm';
import { DAY_MS } from '../../config/clock.js';
import { keyForms } from '../../config/key-forms.js';
import { type Access, type PlanLimits, Plans, type StoredPlan } from '../../config/plan-limits.js';
import { Settings } from '../../config/settings.js';
import { ApiKey, KeySecret } from '../api-key.entity.js';
import { hashKey, keyHint, KeyMaker } from '../key-format.js';
import { Owner } from '../owner.entity.js';
import { recordAction } from './operator-actions.repository.js';
import { getOwner } from './owner-administration.js';
import { usageByDayAndKey, usageByKey } from './usage.repository.js';

/** The properties that operators choose for an API key. Undefined: the default, or no change. */
interface KeyProperties {
  note?: string | undefined;
  access?: Access | undefined;
  /** From now on. null: the API key does not expire. */
  lifetimeMs?: number | null | undefined;
}

/** A new API key. Only now is the key itself known. */
export interface IssuedKey extends ApiKey {
  readonly key: string;
}

/**
 * The operations on API keys for operators, which take part in an open transaction. Each change is one
 * transaction, is recorded with its actor, and takes effect on every replica within seconds. The stored
 * times are those of PostgreSQL. Without such an API key or owner, all throw an Error of one line. Each
 * change locks the row of the owner before it reads a state to check. Only READ COMMITTED reads what
 * others have committed since.
 */
@Injectable()
export class KeyAdministration {
  constructor(
    private readonly database: EntityManager,
    private readonly settings: Settings,
    private readonly plans: Plans,
  ) {}

  /**
   * Issues an API key and creates its owner if the owner does not exist.
   *
   * @param plan required for a new owner. For an existing owner, it must be the current plan
   */
  async issue(name: string, plan?: StoredPlan, properties: KeyProperties = {}): Promise<IssuedKey> {
    if (plan) this.plans.check(plan);
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      // Waits for a command that creates the owner at the same time, and adds none then.
      const insert = transaction.createQueryBuilder().insert().into(Owner).orIgnore();
      const added = plan && (await insert.values({ ...plan, name }).execute());
      const isNewOwner = (added?.raw as object[] | undefined)?.length === 1;
      const owner = await getOwner(transaction, name, 'lock', ' To create an owner, set --plan.');
      const columns = ['plan', 'limitPerMinute', 'limitPerDay'] as const;
      const { command } = this.settings.product;
      if (plan && columns.some((column) => plan[column] !== owner[column])) {
        throw new Error(
          `The owner "${name}" has the plan ${owner.plan} or different limits. Omit --plan, or change the plan with \`${command} owners set-plan\`.`,
        );
      }
      const issued = await this.insertKey(transaction, { owner }, properties);
      const { access, expiresAt } = issued;
      const details = { plan: owner.plan, isNewOwner, access, expiresAt };
      await recordChange(transaction, 'keys issue', issued, details);
      return issued;
    });
  }

  /** Returns the API keys of an owner, or all, in the order of their creation. */
  async list(owner?: string): Promise<ApiKey[]> {
    if (owner === undefined) return findKeys(this.database, {});
    const { id: ownerId } = await getOwner(this.database, owner);
    return findKeys(this.database, { ownerId });
  }

  /**
   * Returns the usage of an API key by day, or that of an owner's or all API keys by key.
   *
   * @param days a UTC day such as `2026-11-26`, or the number of the last UTC days, including today
   */
  async usage(days: string | number, selected?: bigint | string): Promise<object[]> {
    if (typeof selected === 'bigint') {
      const usage = await this.dailyUsage(days, selected);
      return usage
        .map(({ day, requests, rejections }) => ({ day, requests, rejections }))
        .reverse();
    }
    const owner = selected === undefined ? null : await getOwner(this.database, selected);
    return usageByKey(this.database, days, owner?.id ?? null);
  }

  /** Returns the usage of an API key, or that of an owner's or all API keys, by day and key. */
  async dailyUsage(days: string | number, selected?: bigint | string) {
    const isKey = typeof selected === 'bigint';
    const keyId = isKey ? (await getKey(this.database, selected)).id : null;
    const isOwner = typeof selected === 'string';
    const ownerId = isOwner ? (await getOwner(this.database, selected)).id : null;
    return usageByDayAndKey(this.database, days, { ownerId, keyId });
  }

  /** Changes properties of an API key. The audit trail does not contain the text of the note. */
  async change(keyId: bigint, properties: KeyProperties): Promise<ApiKey> {
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      const old = await lockKey(transaction, keyId);
      await transaction.update(ApiKey, { id: keyId }, columnsOf(properties));
      const key = await getKey(transaction, keyId);
      const changed = (['note', 'access', 'expiresAt'] as const).filter(
        (name) => key[name]?.valueOf() !== old[name]?.valueOf(),
      );
      const { access, expiresAt } = key;
      if (changed.length > 0)
        await recordChange(transaction, 'keys change', key, { changed, access, expiresAt });
      return key;
    });
  }

  /**
   * Replaces an API key. The new key has the same owner, lineage, ban, access and note. The old key
   * expires after the overlap, if it does not expire earlier.
   *
   * @param overlapMs how long both keys are valid; 0: the old key expires at once
   * @param lifetimeMs by default the one that the old key was given last
   * @throws Error if the key has expired, or was revoked or rotated
   */
  async rotate(keyId: bigint, overlapMs = DAY_MS, lifetimeMs?: number): Promise<IssuedKey> {
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      const old = await lockKey(transaction, keyId);
      if (old.status !== 'active') {
        const { command } = this.settings.product;
        throw new Error(
          `The key ${keyId} is ${old.status}. ${old.successorId === null ? `Issue a new one with \`${command} keys issue\`.` : `Its successor is key ${old.successorId}.`}`,
        );
      }
      const { owner, unbanCount, firstKeyId, access, note } = old;
      const shared = { owner, unbanCount, firstKeyId: firstKeyId ?? keyId, access, note };
      const lifetime = { lifetimeMs: lifetimeMs ?? lifetimeOf(old) };
      const issued = await this.insertKey(transaction, shared, lifetime);
      const { id: newKeyId, expiresAt } = issued;
      const endsAt = () => `least(expires_at, ${inMs(overlapMs)})`;
      await transaction.update(ApiKey, { id: keyId }, { successorId: newKeyId, expiresAt: endsAt });
      const details = { newKeyId, overlapSeconds: overlapMs / 1000, expiresAt };
      await recordChange(transaction, 'keys rotate', old, details);
      return issued;
    });
  }

  /** Revokes an API key by its id, or all of an owner by its name. Returns all that it selects. */
  async revoke(selected: bigint | string): Promise<ApiKey[]> {
    const where = typeof selected === 'bigint' ? { id: selected } : { owner: { name: selected } };
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      // Waits for keys that are issued at the same time. They are revoked too.
      if (typeof selected === 'string') await getOwner(transaction, selected, 'lock');
      else await lockKey(transaction, selected);
      for (const key of await findKeys(transaction, { ...where, revokedAt: IsNull() })) {
        await transaction.update(ApiKey, { id: key.id }, { revokedAt: () => 'now()' });
        await recordChange(transaction, 'keys revoke', key);
      }
      return findKeys(transaction, where);
    });
  }

  /**
   * Lifts the ban, if any, of an API key and its whole rotation lineage, and restarts their count of
   * rejections.
   *
   * @param wasBanned for the audit trail; undefined if nobody knows
   */
  async unban(keyId: bigint, wasBanned?: boolean): Promise<ApiKey> {
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      const key = await lockKey(transaction, keyId);
      const id = key.firstKeyId ?? keyId;
      const lineage = [{ id }, { firstKeyId: id }];
      await transaction.update(ApiKey, lineage, { unbanCount: () => 'unban_count + 1' });
      await recordChange(transaction, 'keys unban', key, { wasBanned });
      return key;
    });
  }

  /**
   * @param idOrText the id of the API key, or a text that contains the API key itself, such as a line of a log
   * @throws Error if the text has none or several
   */
  async inspect(idOrText: bigint | string): Promise<ApiKey> {
    if (typeof idOrText === 'bigint') return getKey(this.database, idOrText);
    const { inText } = keyForms(this.settings.product.keyPrefix);
    const [key, ...others] = new Set(idOrText.match(inText));
    if (key === undefined) {
      throw new Error(
        'The text has no complete API key of this store. Of standard input, only the first line is read.',
      );
    }
    if (others.length > 0) {
      throw new Error(`The text has ${others.length + 1} different API keys. Pass one at a time.`);
    }
    const [record] = await findKeys(this.database, { hash: Buffer.from(hashKey(key), 'hex') });
    if (record) return record;
    throw new Error('This store did not issue this API key. It may be mistyped.');
  }

  /** Returns the limits of the owner of an API key, null if the store does not have its plan. */
  findLimits({ owner }: ApiKey): PlanLimits | null {
    return this.plans.findLimits(owner);
  }

  private async insertKey(
    transaction: EntityManager,
    shared: Pick<ApiKey, 'owner'> & Partial<ApiKey>,
    properties: KeyProperties,
  ): Promise<IssuedKey> {
    const { secret } = await transaction.findOneByOrFail(KeySecret, {});
    const key = new KeyMaker(secret, this.settings.product.keyPrefix).create();
    const own = { hash: Buffer.from(hashKey(key), 'hex'), hint: keyHint(key), hasProof: true };
    const columns = { ...shared, ...own, ...columnsOf(properties) };
    const { identifiers } = await transaction.insert(ApiKey, columns);
    const { id } = identifiers[0] as ApiKey;
    return Object.assign(await getKey(transaction, id), { key });
  }
}

function findKeys(database: EntityManager, where: FindOptionsWhere<ApiKey>): Promise<ApiKey[]> {
  return database.find(ApiKey, { where, relations: { owner: true }, order: { id: 'ASC' } });
}

async function getKey(database: EntityManager, id: bigint): Promise<ApiKey> {
  const [key] = await findKeys(database, { id });
  if (key) return key;
  throw new Error(`The key ${id} does not exist.`);
}

/** Locks the owner of an API key, and returns the API key as it is from then on. */
async function lockKey(transaction: EntityManager, keyId: bigint): Promise<ApiKey> {
  const { ownerId: id } = await getKey(transaction, keyId);
  await transaction.findOne(Owner, { where: { id }, lock: { mode: 'pessimistic_write' } });
  return getKey(transaction, keyId);
}

function columnsOf({ note, access, lifetimeMs }: KeyProperties) {
  return {
    ...(note !== undefined && { note }),
    ...(access && { access }),
    ...(lifetimeMs === null && { expiresAt: null, lifetimeMs: null }),
    ...(typeof lifetimeMs === 'number' && {
      expiresAt: () => inMs(lifetimeMs),
      lifetimeMs: BigInt(lifetimeMs),
    }),
  };
}

/** Returns the lifetime in milliseconds, null without a limit. */
function lifetimeOf({ lifetimeMs, expiresAt, createdAt }: ApiKey): number | null {
  if (lifetimeMs !== null) return Number(lifetimeMs);
  return expiresAt && expiresAt.getTime() - createdAt.getTime();
}

/** Returns SQL for a time after that of the transaction. */
function inMs(durationMs: number): string {
  return `now() + ${durationMs} * interval '1 millisecond'`;
}

function recordChange(
  transaction: EntityManager,
  action: string,
  { id: keyId, owner }: ApiKey,
  details: object = {},
): Promise<void> {
  const changed = { ownerId: owner.id, owner: owner.name, keyId, ...details };
  return recordAction(transaction, action, changed);
}
