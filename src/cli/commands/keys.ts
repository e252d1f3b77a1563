import { type Command, Option } from 'commander';
import type { IssuedKey } from '../../platform/access/administration/key-administration.js';
import type { ApiKey } from '../../platform/access/api-key.entity.js';
import { ACCESSES } from '../../platform/access/caller.js';
import { limitsOf } from '../../platform/config/plans.js';
import type { BudgetKey, RateLimitDecision } from '../../platform/rate-limit/limit-storage.js';
import { addCommand } from '../command.js';
import { readCounters } from '../counters.js';
import {
  addPlanOptions,
  confirm,
  countUpTo,
  type Options,
  parseDuration,
  parseId,
  parseNote,
  parseOwner,
  storedPlan,
  YES_OPTION,
} from '../options.js';

const STATUSES = ['active', 'banned', 'expired', 'revoked', 'rotated'];
const NOTE_OPTION = ['--note <text>', 'for operators: what the key is for', parseNote] as const;
const STORE_KEY = 'Store the key now. It is not shown again.';

export function addKeysCommands(keys: Command): void {
  const issue = addCommand(keys, 'issue', 'issue an API key', async (store, options: Options) => {
    const { owner = '', plan, note, readOnly, expiresIn: lifetimeMs } = options;
    const newPlan = plan && storedPlan({ ...options, plan });
    const access = readOnly && 'read';
    const issued = await store.keys.issue(owner, newPlan, { note, access, lifetimeMs });
    return [issuedJson(issued), STORE_KEY];
  })
    .requiredOption('--owner <name>', 'the owner, created if it is new', parseOwner)
    .option('--expires-in <time>', 'lifetime, such as 90d (default: unlimited)', parseDuration)
    .option('--read-only', 'allow only GET, HEAD and OPTIONS')
    .option(...NOTE_OPTION);
  addPlanOptions(issue, { required: false });

  addCommand(keys, 'list', 'list API keys', async (store, { owner, status }: Options) => {
    const records = await store.keys.list(owner);
    const { decisions, problem } = await readCounters(records.map(budgetKey));
    if (status === 'banned' && problem !== undefined) throw new Error(problem);
    const listed = records.map((key, index) => keyJson(key, decisions?.[index]));
    const selected = listed.filter((key) => status === undefined || key.status === status);
    return [selected, records.length > 0 ? problem : undefined];
  })
    .option('--owner <name>', 'only keys of this owner', parseOwner)
    .addOption(new Option('--status <status>', 'only keys with this status').choices(STATUSES));

  const usage = addCommand(
    keys,
    'usage',
    'show the requests of a key by day, or of all keys, the most used first',
    async (store, id: bigint | undefined, { owner, days = 0 }: Options) => [
      await store.keys.usage(days, id ?? owner),
    ],
  )
    .argument('[id]', 'the id of the key', parseId)
    .option('--owner <name>', 'only keys of this owner', parseOwner)
    .option('--days <n>', 'the last UTC days, today is one', countUpTo(400), 30)
    .hook('preAction', () => {
      if (usage.args.length === 0 || usage.getOptionValue('owner') === undefined) return;
      usage.error('error: expected the id of a key or --owner, not both');
    });

  const change = addCommand(
    keys,
    'change',
    'change the note, the access or the expiry of an API key',
    async (store, id: bigint, { note, access, expiresIn, expiry }: Options) => {
      const lifetimeMs = expiry === false ? null : expiresIn;
      return [keyJson(await store.keys.change(id, { note, access, lifetimeMs }))];
    },
  )
    .argument('<id>', 'the id of the key', parseId)
    .option(...NOTE_OPTION)
    .addOption(new Option('--access <access>', 'what the key allows').choices(ACCESSES))
    .option('--expires-in <time>', 'lifetime from now on, such as 90d', parseDuration)
    .addOption(new Option('--no-expiry', 'never expire').conflicts('expiresIn'))
    .hook('preAction', () => {
      const { note, access, expiresIn, expiry } = change.opts<Options>();
      if (note ?? access ?? (expiresIn !== undefined || expiry === false)) return;
      change.error('error: expected --note, --access, --expires-in or --no-expiry');
    });

  addCommand(keys, 'rotate', 'replace an API key', async (store, id: bigint, options: Options) => [
    issuedJson(await store.keys.rotate(id, options.overlap, options.expiresIn)),
    STORE_KEY,
  ])
    .argument('<id>', 'the id of the key to replace', parseId)
    .option('--overlap <time>', 'how long both are valid (default: 24h)', parseDuration)
    .option('--expires-in <time>', 'lifetime (default: that of the old key)', parseDuration);

  const revoke = addCommand(
    keys,
    'revoke',
    'revoke an API key, or all of an owner',
    async (store, id: bigint | undefined, options: Options) => {
      const { owner = '' } = options;
      const key = id === undefined ? undefined : await store.keys.inspect(id);
      const which = key
        ? `key ${id} of ${key.owner.name}`
        : `all keys of ${(await store.owners.get(owner)).name}`;
      const effect = `This revokes ${which} in ${store.target.description}. It cannot be undone.`;
      await confirm(store.target, effect, options);
      const revoked = await store.keys.revoke(id ?? owner);
      if (!key) return [revoked.map((record) => keyJson(record))];
      const [record = key] = revoked; // The key may have been rotated since the confirmation.
      if (record.successorId === null) return [keyJson(record)];
      const successor = await store.keys.inspect(record.successorId);
      return [keyJson(record), `Its successor, key ${successor.id}, stays ${successor.status}.`];
    },
  )
    .argument('[id]', 'the id of the key', parseId)
    .option('--owner <name>', 'all keys of this owner', parseOwner)
    .option(...YES_OPTION)
    .hook('preAction', () => {
      if (revoke.args.length > 0 !== (revoke.getOptionValue('owner') !== undefined)) return;
      revoke.error('error: expected either the id of a key or --owner');
    });

  addCommand(keys, 'unban', 'lift the ban of a key and its lineage', async (store, id: bigint) => {
    const { decisions } = await readCounters([budgetKey(await store.keys.inspect(id))]);
    const note = decisions?.[0]?.bannedUntilMs === 0 ? `The key ${id} was not banned.` : undefined;
    return [keyJson(await store.keys.unban(id)), note];
  }).argument('<id>', 'the id of the key', parseId);

  addCommand(keys, 'inspect', 'show an API key', async (store, keyOrId: bigint | string) => {
    const key = await store.keys.inspect(keyOrId);
    const { decisions, problem } = await readCounters([budgetKey(key)]);
    const { id, firstKeyId, successorId } = key;
    const lineage = { firstKeyId: firstKeyId ?? id, successorId };
    return [{ ...keyJson(key, decisions?.[0]), ...limitsOf(key.owner), ...lineage }, problem];
  }).argument('<key-or-id>', 'the key itself or its id', (text: string) =>
    /^\d+$/.test(text) ? parseId(text) : text,
  );
}

function issuedJson({ id, owner, key, expiresAt, access, note }: IssuedKey) {
  return { id, owner: owner.name, plan: owner.plan, key, expiresAt, access, note };
}

function budgetKey({ id, ownerId, owner, firstKeyId, unbanCount }: ApiKey): BudgetKey {
  return { ownerId, limits: limitsOf(owner), firstKeyId: firstKeyId ?? id, unbanCount };
}

/** @param counters undefined: they cannot be read */
function keyJson(key: ApiKey, counters?: RateLimitDecision) {
  const { id, owner, hint, access, note, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const isBanned = /active|rotated/.test(key.status) && Boolean(counters?.bannedUntilMs);
  const status = isBanned ? 'banned' : key.status;
  const times = { createdAt, lastUsedAt, expiresAt, revokedAt };
  return { id, owner: owner.name, plan: owner.plan, hint, access, note, status, ...times };
}
