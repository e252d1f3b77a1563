import type { Command } from 'commander';
import type {
  IssuedKey,
  KeyRecord,
  RotatedKey,
} from '../../platform/access/administration/key-administration.js';
import { limitsOf } from '../../platform/access/owner.entity.js';
import type { BudgetKey, RateLimitDecision } from '../../platform/rate-limit/limit-storage.js';
import {
  parseDuration,
  parseId,
  parseKeyOrId,
  parseLifetime,
  parseOwner,
} from './option-values.js';
import { addPlanOptions, type PlanOptions, storedPlan } from './plan-options.js';
import { confirm, type ConfirmationOptions, YES_OPTION } from '../confirmation.js';
import { readCounters, type Usage, usageOf } from '../counters.js';
import { addCommand, addStoreAction } from '../store-command.js';

const STORE_KEY = 'Store the key now. It is not shown again.';

/** Adds `keys` and its commands. */
export function addKeysCommands(program: Command): void {
  const keys = addCommand(
    program,
    'keys',
    'manage API keys',
    'keys issue --owner "City shelter" --plan pro',
    'keys rotate 17 --overlap 7d',
  );
  addIssue(keys);
  addList(keys);
  addRotate(keys);
  addRevoke(keys);
  addUnban(keys);
  addInspect(keys);
}

function addIssue(keys: Command): void {
  const command = addCommand(
    keys,
    'issue',
    'issue an API key, and create its owner if necessary',
    'keys issue --owner "City shelter" --plan pro',
    'keys issue --owner "City shelter" --expires-in 90d',
    'keys issue --owner Importer --plan enterprise --per-minute 5000 --per-day 1000000',
  );
  addPlanOptions(command, { required: false })
    .requiredOption('--owner <name>', '(required) the owner of the key', parseOwner)
    .option(
      '--expires-in <time>',
      'lifetime of the key, such as 90d, 24h or 30m (default: unlimited)',
      parseLifetime,
    );
  type Options = PlanOptions & { owner: string; expiresIn?: number };
  addStoreAction(command, async (store, { owner, plan, expiresIn, ...limits }: Options) => {
    const issued = await store.keys.issue({
      owner,
      plan: plan && storedPlan(plan, limits),
      lifetimeMs: expiresIn,
    });
    return [issuedJson(issued), STORE_KEY];
  });
}

function addList(keys: Command): void {
  const example = 'keys list --owner "City shelter" --json';
  const command = addCommand(keys, 'list', 'list API keys', 'keys list', example);
  command.option('--owner <name>', 'only keys of this owner', parseOwner);
  addStoreAction(command, async (store, { owner }: { owner?: string }) => {
    const records = await store.keys.list(owner);
    const { decisions, problem } = await readCounters(records.map(budgetKey));
    const keys = records.map((key, index) => keyJson(keyState(key, decisions?.[index])));
    return [keys, keys.length > 0 ? problem : undefined];
  });
}

function addRotate(keys: Command): void {
  const command = addCommand(
    keys,
    'rotate',
    'replace an API key with a new one; the old key expires after the overlap',
    'keys rotate 17',
    'keys rotate 17 --overlap 7d',
    'keys rotate 17 --overlap 0',
  )
    .argument('<id>', 'the id of the key to replace', parseId)
    .option(
      '--overlap <time>',
      'how long both keys are valid, such as 24h, 30m or 0 (default: 24h)',
      parseDuration,
    );
  addStoreAction(command, async (store, id: bigint, { overlap }: { overlap?: number }) => {
    const rotated = await store.keys.rotate(id, overlap);
    return [issuedJson(rotated), oldKeyNote(id, rotated)];
  });
}

function addRevoke(keys: Command): void {
  const command = addCommand(keys, 'revoke', 'revoke an API key', 'keys revoke 17');
  command.argument('<id>', 'the id of the key', parseId).option(...YES_OPTION);
  addStoreAction(command, async (store, id: bigint, options: ConfirmationOptions) => {
    const { owner } = await store.keys.inspect(id);
    const effect = `This revokes key ${id} of ${owner} in ${store.target.description}. It cannot be undone.`;
    await confirm(store.target, effect, options);
    return [keyJson(keyState(await store.keys.revoke(id)))];
  });
}

function addUnban(keys: Command): void {
  const description = 'lift the ban of an API key and of its rotation lineage';
  const command = addCommand(keys, 'unban', description, 'keys unban 17');
  command.argument('<id>', 'the id of the key', parseId);
  addStoreAction(command, async (store, id: bigint) => [
    keyJson(keyState(await store.keys.unban(id))),
    'The owner still gets 429 while one of its windows is used up.',
  ]);
}

function addInspect(keys: Command): void {
  const description = 'show the details of an API key';
  const command = addCommand(keys, 'inspect', description, 'keys inspect 17', 'keys inspect aas_…');
  command.argument('<key-or-id>', 'the key itself or its id', parseKeyOrId);
  addStoreAction(command, async (store, keyOrId: bigint | string) => {
    const record = await store.keys.inspect(keyOrId);
    const { decisions, problem } = await readCounters([budgetKey(record)]);
    return [inspectedJson(keyState(record, decisions?.[0])), problem];
  });
}

function issuedJson({ id, owner, plan, key, expiresAt }: IssuedKey) {
  return { id, owner, plan, key, expiresAt };
}

function oldKeyNote(
  id: bigint,
  { createdAt, oldKeyExpiresAt, earlierSuccessorId }: RotatedKey,
): string {
  const notes = [STORE_KEY];
  if (oldKeyExpiresAt) {
    // Both times are those of the rotation if the overlap is 0.
    const isValid = oldKeyExpiresAt > createdAt;
    const validity = isValid ? `valid until ${oldKeyExpiresAt.toISOString()}` : 'no longer valid';
    notes.push(`Key ${id} is ${validity}.`);
  }
  if (earlierSuccessorId !== null) {
    notes.push(`Key ${id} was already rotated. That rotation created key ${earlierSuccessorId}.`);
  }
  return notes.join('\n');
}

/** An API key with the state that the counters add. */
type KeyState = Omit<KeyRecord, 'status'> & {
  status: KeyRecord['status'] | 'banned';
  bannedUntil: Date | null;
  /** null: the counters cannot be read. */
  usage: Usage | null;
};

function keyState(key: KeyRecord, counters?: RateLimitDecision): KeyState {
  const isValid = key.status === 'active' || key.status === 'rotated';
  const bannedUntilMs = isValid ? counters?.bannedUntilMs : undefined;
  return {
    ...key,
    status: bannedUntilMs === undefined ? key.status : 'banned',
    bannedUntil: bannedUntilMs === undefined ? null : new Date(bannedUntilMs),
    usage: counters ? usageOf(counters) : null,
  };
}

function budgetKey(key: KeyRecord): BudgetKey {
  return { ...key, limits: limitsOf(key) };
}

function keyJson(key: KeyState) {
  const { id, owner, plan, hint, status, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  return { id, owner, plan, hint, status, createdAt, lastUsedAt, expiresAt, revokedAt };
}

function inspectedJson(key: KeyState) {
  const { perMinute, perDay } = limitsOf(key);
  const { firstKeyId, successorId, bannedUntil, usage } = key;
  return { ...keyJson(key), perMinute, perDay, firstKeyId, successorId, bannedUntil, usage };
}
