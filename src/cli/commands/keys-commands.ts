import type { Command } from 'commander';
import type { KeyRecord } from '../../auth/administration/administration.repository.js';
import type { IssuedKey, KeyAdministration } from '../../auth/administration/key-administration.js';
import { limitsOf } from '../../auth/administration/plan-choice.js';
import {
  parseDuration,
  parseId,
  parseKeyOrId,
  parseLifetime,
  parseOwner,
} from './option-values.js';
import { type OutputOptions, printResult } from '../output.js';
import { addPlanOptions, chosenPlan, type PlanOptions } from './plan-options.js';
import { textList, textTable, timeText } from '../text-table.js';
import { addJsonOption, onStore } from '../store-command.js';

/** Adds `keys` and its commands. */
export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('manage API keys');
  addIssue(keys);
  addList(keys);
  addRotate(keys);
  addRevoke(keys);
  addUnban(keys);
  addInspect(keys);
}

function addIssue(keys: Command): void {
  const command = keys
    .command('issue')
    .description('issue an API key, and create its owner if necessary')
    .requiredOption('--owner <name>', 'the owner of the key', parseOwner);
  addPlanOptions(command, { required: false }).option(
    '--expires-in <time>',
    'lifetime of the key, such as 90d, 24h or 30m (default: unlimited)',
    parseLifetime,
  );
  addJsonOption(command);
  type Options = OutputOptions & PlanOptions & { owner: string; expiresIn?: number };
  command.action(async ({ owner, expiresIn, ...options }: Options) => {
    const plan = chosenPlan(command, options);
    await onStore(async ({ keys: administration }) => {
      const issued = await administration.issue({ owner, plan, lifetimeMs: expiresIn });
      await printResult(options, issuedJson(issued), issuedText(issued));
    });
  });
}

function addList(keys: Command): void {
  const command = keys
    .command('list')
    .description('list API keys')
    .option('--owner <name>', 'only keys of this owner', parseOwner);
  addJsonOption(command).action(
    async ({ owner, ...options }: OutputOptions & { owner?: string }) => {
      await onStore(async ({ keys: administration }) => {
        const records = await administration.list(owner);
        await printResult(options, records.map(keyJson), keysText(records));
      });
    },
  );
}

function addRotate(keys: Command): void {
  const command = keys
    .command('rotate')
    .description('replace an API key with a new one; the old key expires after the overlap')
    .argument('<id>', 'the id of the key to replace', parseId)
    .option(
      '--overlap <time>',
      'how long both keys are valid, such as 24h, 30m or 0 (default: 24h)',
      parseDuration,
    );
  addJsonOption(command).action(
    async (id: bigint, { overlap, ...options }: OutputOptions & { overlap?: number }) => {
      await onStore(async ({ keys: administration }) => {
        const rotated = await administration.rotate(id, overlap);
        const { oldKeyExpiresAt } = rotated;
        const old = oldKeyExpiresAt
          ? `Key ${id} is valid until ${timeText(oldKeyExpiresAt)}.\n`
          : '';
        await printResult(options, issuedJson(rotated), issuedText(rotated) + old);
      });
    },
  );
}

function addRevoke(keys: Command): void {
  const command = keys
    .command('revoke')
    .description('revoke an API key')
    .argument('<id>', 'the id of the key', parseId);
  addChange(command, async (administration, id) => {
    const key = await administration.revoke(id);
    return [key, `Key ${id} of ${key.owner} is revoked.\n`];
  });
}

function addUnban(keys: Command): void {
  const command = keys
    .command('unban')
    .description('lift the ban of an API key and of its rotation lineage')
    .argument('<id>', 'the id of the key', parseId);
  addChange(command, async (administration, id) => {
    const key = await administration.unban(id);
    return [key, `Key ${id} of ${key.owner} is no longer banned.\n`];
  });
}

function addInspect(keys: Command): void {
  const command = keys
    .command('inspect')
    .description('show the details of an API key')
    .argument('<key-or-id>', 'the key itself or its id', parseKeyOrId);
  addJsonOption(command).action(async (keyOrId: bigint | string, options: OutputOptions) => {
    await onStore(async ({ keys: administration }) => {
      const key =
        typeof keyOrId === 'bigint'
          ? await administration.inspect(keyOrId)
          : await administration.inspectKey(keyOrId);
      await printResult(options, inspectedJson(key), inspectedText(key));
    });
  });
}

/** Adds the action of a command that changes the key of its argument. */
function addChange(
  command: Command,
  change: (
    administration: KeyAdministration,
    id: bigint,
  ) => Promise<[key: KeyRecord, text: string]>,
): void {
  addJsonOption(command).action(async (id: bigint, options: OutputOptions) => {
    await onStore(async ({ keys }) => {
      const [key, text] = await change(keys, id);
      await printResult(options, keyJson(key), text);
    });
  });
}

function issuedJson({ id, owner, plan, key, expiresAt }: IssuedKey) {
  return { id, owner, plan, key, expiresAt };
}

function keyJson(key: KeyRecord) {
  const { id, owner, plan, hint, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  return { id, owner, plan, hint, createdAt, lastUsedAt, expiresAt, revokedAt };
}

function inspectedJson(key: KeyRecord) {
  const { perMinute, perDay } = limitsOf(key);
  return { ...keyJson(key), status: key.status, perMinute, perDay, firstKeyId: key.firstKeyId };
}

function issuedText({ id, owner, plan, key, expiresAt }: IssuedKey): string {
  const expiry = expiresAt ? `expires ${timeText(expiresAt)}` : 'does not expire';
  return `Key ${id} of ${owner} (${plan}), ${expiry}:\n\n  ${key}\n\nStore it now. It is not shown again.\n`;
}

function keysText(keys: readonly KeyRecord[]): string {
  if (keys.length === 0) return 'There are no keys.\n';
  return textTable(
    ['ID', 'OWNER', 'PLAN', 'HINT', 'CREATED', 'LAST USED', 'EXPIRES', 'REVOKED'],
    keys.map((key) => [
      key.id,
      key.owner,
      key.plan,
      key.hint,
      key.createdAt,
      key.lastUsedAt,
      key.expiresAt,
      key.revokedAt,
    ]),
  );
}

function inspectedText(key: KeyRecord): string {
  const { perMinute, perDay } = limitsOf(key);
  return textList([
    ['id', key.id],
    ['status', key.status],
    ['owner', key.owner],
    ['plan', key.plan],
    ['limits', `${perMinute} per minute, ${perDay} per day`],
    ['hint', key.hint],
    ['rotated from', key.firstKeyId === key.id ? null : `first key ${key.firstKeyId}`],
    ['created', key.createdAt],
    ['last used', key.lastUsedAt],
    ['expires', key.expiresAt],
    ['revoked', key.revokedAt],
  ]);
}
