import { randomBytes } from 'node:crypto';
import { hashKey, keyHint } from '../../../src/platform/access/key-format.js';
import { earlierKey, keyMakerOf } from './api-keys.js';
import type { TestDatabase } from './database.js';

interface OwnerOptions {
  /** A random one if undefined. */
  name?: string;
  plan?: string;
  /** Sets the limits of an enterprise owner; the plan is enterprise then. */
  limits?: { perMinute: number; perDay: number };
}

/** An owner with one key. */
export interface TestOwner {
  id: string;
  key: string;
  keyId: string;
}

/** Creates an owner with a key. The plan is enterprise with high limits by default. */
export async function createOwner(
  database: TestDatabase,
  options: OwnerOptions = {},
): Promise<TestOwner> {
  const limits =
    options.limits ?? (options.plan ? undefined : { perMinute: 1_000_000, perDay: 10_000_000 });
  const plan = limits ? 'enterprise' : (options.plan ?? 'enterprise');
  const [owner] = await database.query<{ id: string }>(
    `INSERT INTO owners (name, plan, limit_per_minute, limit_per_day) VALUES ($1, $2, $3, $4) RETURNING id`,
    [
      options.name ?? `owner ${randomBytes(6).toString('hex')}`,
      plan,
      limits?.perMinute ?? null,
      limits?.perDay ?? null,
    ],
  );
  const { id } = owner as { id: string };
  return { id, ...(await createKey(database, id)) };
}

interface KeyOptions {
  expiresAtMs?: number;
  revokedAtMs?: number;
  firstKeyId?: string;
  access?: 'read' | 'read-write';
  /** As the previous release issues it: without a proof. */
  isEarlier?: boolean;
}

/** Creates another key of an owner. */
export async function createKey(
  database: TestDatabase,
  ownerId: string,
  {
    expiresAtMs,
    revokedAtMs,
    firstKeyId,
    access = 'read-write',
    isEarlier = false,
  }: KeyOptions = {},
): Promise<{ key: string; keyId: string }> {
  const key = isEarlier ? earlierKey() : (await keyMakerOf(database)).create();
  const [row] = await database.query<{ id: string }>(
    `INSERT INTO api_keys (owner_id, first_key_id, hash, hint, has_proof, expires_at, revoked_at, access)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
    [
      ownerId,
      firstKeyId ?? null,
      Buffer.from(hashKey(key), 'hex'),
      keyHint(key),
      !isEarlier,
      expiresAtMs === undefined ? null : new Date(expiresAtMs),
      revokedAtMs === undefined ? null : new Date(revokedAtMs),
      access,
    ],
  );
  return { key, keyId: (row as { id: string }).id };
}

type Status = 'available' | 'pending' | 'sold';

/** Adds items to the store of the platform's tests (features/store). Returns their ids in ascending order. */
export async function createItems(
  database: TestDatabase,
  count: number,
  status: (index: number) => Status = () => 'available',
): Promise<string[]> {
  const statuses = Array.from({ length: count }, (_, index) => status(index));
  const rows = await database.query<{ id: string }>(
    `INSERT INTO test_items (name, category_id, status)
     SELECT 'Item ' || number, 1, status FROM unnest($1::text[]) WITH ORDINALITY AS row (status, number)
      ORDER BY number RETURNING id`,
    [statuses],
  );
  return rows.map(({ id }) => id);
}
