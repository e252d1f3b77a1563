import { type Command, Option } from 'commander';
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
import { tableTime, textList, textTable, timeText } from '../text-table.js';
import { addCommand, addRequiredOption } from '../command-options.js';
import { confirm, type ConfirmationOptions, YES_OPTION } from '../confirmation.js';
import { readCounters, type Usage, usageOf } from '../counters.js';
import type { OutputOptions } from '../output.js';
import { addStoreAction } from '../store-command.js';

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
  const owner = new Option('--owner <name>', 'the owner of the key').argParser(parseOwner);
  addRequiredOption(command, owner);
  addPlanOptions(command, { required: false }).option(
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
    return [issuedJson(issued), issuedText(issued)];
  });
}

function addList(keys: Command): void {
  const example = 'keys list --owner "City shelter" --json';
  const command = addCommand(keys, 'list', 'list API keys', 'keys list', example);
  command.option('--owner <name>', 'only keys of this owner', parseOwner);
  addStoreAction(command, async (store, { owner, json }: OutputOptions & { owner?: string }) => {
    const records = await store.keys.list(owner);
    const { decisions, problem } = await readCounters(records.map(budgetKey));
    const keys = records.map((key, index) => keyState(key, decisions?.[index]));
    if (problem !== undefined && keys.length > 0 && !json) console.error(problem);
    return [keys.map(keyJson), keysText(keys)];
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
    const { earlierSuccessorId } = rotated;
    if (earlierSuccessorId !== null) {
      console.error(
        `Key ${id} was already rotated. That rotation created key ${earlierSuccessorId}.`,
      );
    }
    return [issuedJson(rotated), issuedText(rotated) + oldKeyText(id, rotated)];
  });
}

function addRevoke(keys: Command): void {
  const command = addCommand(keys, 'revoke', 'revoke an API key', 'keys revoke 17');
  command.argument('<id>', 'the id of the key', parseId).option(...YES_OPTION);
  addStoreAction(command, async (store, id: bigint, options: ConfirmationOptions) => {
    const { owner } = await store.keys.inspect(id);
    const effect = `This revokes key ${id} of ${owner} in ${store.target.description}. It cannot be undone.`;
    await confirm(store.target, effect, options);
    return changed(await store.keys.revoke(id), 'is revoked');
  });
}

function addUnban(keys: Command): void {
  const description = 'lift the ban of an API key and of its rotation lineage';
  const command = addCommand(keys, 'unban', description, 'keys unban 17');
  command.argument('<id>', 'the id of the key', parseId);
  addStoreAction(command, async (store, id: bigint) =>
    changed(await store.keys.unban(id), 'is no longer banned'),
  );
}

function addInspect(keys: Command): void {
  const description = 'show the details of an API key';
  const command = addCommand(keys, 'inspect', description, 'keys inspect 17', 'keys inspect aas_…');
  command.argument('<key-or-id>', 'the key itself or its id', parseKeyOrId);
  addStoreAction(command, async (store, keyOrId: bigint | string) => {
    const record = await store.keys.inspect(keyOrId);
    const { decisions, problem } = await readCounters([budgetKey(record)]);
    const key = keyState(record, decisions?.[0]);
    return [inspectedJson(key), inspectedText(key) + (problem ? `\n${problem}\n` : '')];
  });
}

function issuedJson({ id, owner, plan, key, expiresAt }: IssuedKey) {
  return { id, owner, plan, key, expiresAt };
}

/** The result of a command that changed a key. */
function changed(key: KeyRecord, done: string) {
  return [keyJson(keyState(key)), `Key ${key.id} of ${key.owner} ${done}.\n`] as const;
}

function oldKeyText(id: bigint, { createdAt, oldKeyExpiresAt }: RotatedKey): string {
  if (!oldKeyExpiresAt) return '';
  // Both times are those of the rotation if the overlap is 0.
  return oldKeyExpiresAt <= createdAt
    ? `Key ${id} is no longer valid.\n`
    : `Key ${id} is valid until ${timeText(oldKeyExpiresAt)}.\n`;
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

function issuedText({ id, owner, plan, key, expiresAt }: IssuedKey): string {
  const expiry = expiresAt ? `expires ${timeText(expiresAt)}` : 'does not expire';
  return `Key ${id} of ${owner} (${plan}), ${expiry}:\n\n  ${key}\n\nStore it now. It is not shown again.\n`;
}

/** Returns, for example, `active`, `banned until …` or `expires …`. */
function statusText({ status, bannedUntil, expiresAt }: KeyState): string {
  if (bannedUntil) return `banned until ${timeText(bannedUntil)}`;
  return status === 'active' && expiresAt ? `expires ${tableTime(expiresAt)}` : status;
}

function keysText(keys: readonly KeyState[]): string {
  if (keys.length === 0) return 'There are no keys.\n';
  return textTable(
    ['ID', 'OWNER', 'PLAN', 'HINT', 'STATUS', 'CREATED', 'LAST USED', 'EXPIRES', 'REVOKED'],
    keys.map((key) => Object.values({ ...keyJson(key), status: statusText(key) })),
  );
}

function inspectedText(key: KeyState): string {
  const { perMinute, perDay } = limitsOf(key);
  const windows = Object.entries(key.usage ?? {}).map(
    ([name, { used, limit, resetsAt }]) =>
      [
        `requests per ${name}`,
        `${used} of ${limit} used${resetsAt ? `, resets ${timeText(resetsAt)}` : ''}`,
      ] as const,
  );
  return textList([
    ['id', key.id],
    ['status', key.status],
    ['owner', key.owner],
    ['plan', key.plan],
    ['limits', `${perMinute} per minute, ${perDay} per day`],
    ...windows,
    ['hint', key.hint],
    ['rotated from', key.firstKeyId === key.id ? null : `first key ${key.firstKeyId}`],
    ['successor', key.successorId],
    ['banned until', key.bannedUntil],
    ['created', key.createdAt],
    ['last used', key.lastUsedAt],
    ['expires', key.expiresAt],
    ['revoked', key.revokedAt],
  ]);
}
