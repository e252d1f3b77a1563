import { createInterface } from 'node:readline';
import { Injectable } from '@nestjs/common';
import { Option } from 'commander';
import {
  type IssuedKey,
  KeyAdministration,
} from '../../access/administration/key-administration.js';
import { OwnerAdministration } from '../../access/administration/owner-administration.js';
import type { ApiKey } from '../../access/api-key.entity.js';
import { countUpTo, YES_OPTION } from '../arguments.js';
import { Command } from '../command.decorator.js';
import { Terminal } from '../terminal.js';
import { ACCESSES } from '../../config/plan-limits.js';
import type { Product } from '../../config/product.js';
import type { RateLimitDecision } from '../../rate-limit/limit-storage.js';
import { type Counted, Counters } from './counters.js';
import { csvOption, csvText } from './csv.js';
import {
  addPlanOptions,
  noteOf,
  type Options,
  ownerOf,
  parseDay,
  parseDuration,
  parseId,
  parseLifetime,
  storedPlan,
} from './options.js';

const STATUSES = ['active', 'banned', 'expired', 'revoked', 'rotated'];
const accessOption = () =>
  new Option('--access <access>', 'read allows only GET, HEAD and OPTIONS').choices(ACCESSES);
const noteOption = (product: Product) =>
  new Option('--note <text>', 'for operators: what the key is for').argParser(noteOf(product));
const ownerOption = (product: Product) =>
  new Option('--owner <name>', 'only keys of this owner').argParser(ownerOf(product));
/** The columns of `keys usage --csv`: a line for each day, owner and API key. */
const DAILY_USAGE = ['day', 'owner', 'keyId', 'note', 'requests', 'rejections'];
const STORE_KEY = 'Store the key now. It is not shown again.';
/** The steps by which a list of API keys fits into 80 characters: the least important columns first. */
const FIT = ['revokedAt', 'createdAt', 'plan', 16, 'hint', 12, 'expiresAt'];
/** Nobody knows the key if it was not printed. */
const ifUnprinted = ({ id }: { id: bigint }) => `Revoke the new API key ${id}, because it is lost.`;

@Injectable()
export class KeysCommands {
  constructor(
    private readonly keys: KeyAdministration,
    private readonly owners: OwnerAdministration,
    private readonly terminal: Terminal,
    private readonly counters: Counters,
  ) {}

  @Command(
    'issue',
    'issue an API key',
    (command, { product, plans }) => {
      command
        .requiredOption('--owner <name>', 'the owner, created if it is new', ownerOf(product))
        .option('--expires-in <time>', 'lifetime, such as 90d (default: unlimited)', parseLifetime)
        .addOption(accessOption().default('read-write'))
        .addOption(new Option('--read-only').conflicts('access').hideHelp())
        .addOption(noteOption(product));
      addPlanOptions(command, plans, { required: false });
    },
    { effect: 'changed', ifUnprinted },
  )
  async issue(options: Options) {
    const { owner = '', plan, note, readOnly, expiresIn: lifetimeMs } = options;
    const newPlan = plan === undefined ? undefined : storedPlan({ ...options, plan });
    const access = readOnly ? 'read' : options.access;
    if (plan) await this.announceNewOwner(owner, plan);
    const issued = await this.keys.issue(owner, newPlan, { note, access, lifetimeMs });
    this.terminal.note(STORE_KEY);
    return shownIssuedKey(issued);
  }

  @Command(
    'list',
    'list API keys',
    (command, { product }) =>
      command
        .addOption(ownerOption(product))
        .addOption(new Option('--status <status>', 'only keys with this status').choices(STATUSES)),
    { fit: FIT },
  )
  async list({ owner, status }: Options) {
    const records = await this.keys.list(owner);
    const { decisions, problem } = await this.counters.read(records.map(countedKey));
    if (status === 'banned' && problem !== undefined) throw new Error(problem);
    const listed = records.map((key, index) => shownKey(key, decisions?.[index]));
    if (records.length > 0) this.noteProblem(problem);
    if (listed.some((key) => key.status === 'banned')) this.noteBans();
    return listed.filter((key) => status === undefined || key.status === status);
  }

  @Command(
    'usage',
    'show the requests of a key by day, or of all keys, the most used first',
    (command, { product }) =>
      command
        .argument('[id]', 'the id of the key', parseId)
        .addOption(ownerOption(product))
        .option('--days <n>', 'how many UTC days, including today', countUpTo(400), 30)
        .addOption(
          new Option('--day <day>', 'one UTC day, such as 2026-11-26')
            .argParser(parseDay)
            .conflicts('days'),
        )
        .addOption(csvOption())
        .hook('preAction', () => {
          if (command.args.length === 0 || command.getOptionValue('owner') === undefined) return;
          command.error('error: expected the id of a key or --owner, not both');
        }),
  )
  async usage(id: bigint | undefined, { owner, day, days, csv }: Options & { days: number }) {
    if (!csv) return this.keys.usage(day ?? days, id ?? owner);
    return csvText(DAILY_USAGE, await this.keys.dailyUsage(day ?? days, id ?? owner));
  }

  @Command(
    'change',
    'change the note, the access or the expiry of an API key',
    (command, { product }) =>
      command
        .argument('<id>', 'the id of the key', parseId)
        .addOption(noteOption(product))
        .addOption(accessOption())
        .option('--expires-in <time>', 'lifetime from now on, such as 90d', parseDuration)
        .addOption(new Option('--no-expiry', 'never expire').conflicts('expiresIn'))
        .hook('preAction', () => {
          const { note, access, expiresIn, expiry } = command.opts<Options>();
          if (note ?? access ?? (expiresIn !== undefined || expiry === false)) return;
          command.error('error: expected --note, --access, --expires-in or --no-expiry');
        }),
    { effect: 'changed' },
  )
  async change(id: bigint, { note, access, expiresIn, expiry }: Options) {
    const lifetimeMs = expiry === false ? null : expiresIn;
    return shownKey(await this.keys.change(id, { note, access, lifetimeMs }));
  }

  @Command(
    'rotate',
    'replace an API key',
    (command) =>
      command
        .argument('<id>', 'the id of the key to replace', parseId)
        .option('--overlap <time>', 'how long both are valid (default: 24h)', parseDuration)
        .option('--expires-in <time>', 'lifetime (default: that of the old key)', parseLifetime),
    { effect: 'changed', ifUnprinted },
  )
  async rotate(id: bigint, { overlap, expiresIn }: Options) {
    const issued = await this.keys.rotate(id, overlap, expiresIn);
    this.terminal.note(STORE_KEY);
    return shownIssuedKey(issued);
  }

  @Command(
    'revoke',
    'revoke an API key, or all API keys of an owner',
    (command, { product }) =>
      command
        .argument('[id]', 'the id of the key', parseId)
        .option('--owner <name>', 'all keys of this owner', ownerOf(product))
        .option(...YES_OPTION)
        .hook('preAction', () => {
          if (command.args.length > 0 !== (command.getOptionValue('owner') !== undefined)) return;
          command.error('error: expected either the id of a key or --owner');
        }),
    { effect: 'changed', fit: FIT },
  )
  async revoke(id: bigint | undefined, options: Options) {
    const { owner = '' } = options;
    const key = id === undefined ? undefined : await this.keys.inspect(id);
    if (key?.revokedAt) {
      const time = key.revokedAt.toISOString();
      this.terminal.note(`API key ${key.id} was already revoked at ${time}.`);
    } else {
      const which = key
        ? `key ${id} of ${key.owner.name}`
        : `all keys of ${(await this.owners.get(owner)).name}`;
      const { description } = this.terminal.database;
      const effect = `This revokes ${which} in ${description}. It cannot be undone.`;
      await this.terminal.confirm(effect, options);
    }
    const revoked = await this.keys.revoke(id ?? owner);
    if (!key) return revoked.map((record) => shownKey(record));
    const [record = key] = revoked; // The key may have been rotated since the confirmation.
    if (record.successorId !== null) {
      const successor = await this.keys.inspect(record.successorId);
      this.terminal.note(`Its successor, key ${successor.id}, stays ${successor.status}.`);
    }
    return shownKey(record);
  }

  @Command(
    'unban',
    'lift the ban of a key and of those that it replaced or that replaced it',
    (command) => command.argument('<id>', 'the id of the key', parseId),
    { effect: 'changed' },
  )
  async unban(id: bigint) {
    const { decisions } = await this.counters.read([countedKey(await this.keys.inspect(id))]);
    const bannedUntilMs = decisions?.[0]?.bannedUntilMs;
    const wasBanned = bannedUntilMs === undefined ? undefined : bannedUntilMs > 0;
    const unbanned = await this.keys.unban(id, wasBanned);
    if (wasBanned === false) {
      this.terminal.note(`The key ${id} was not banned. Its count of rejections restarts.`);
    }
    return shownKey(unbanned);
  }

  @Command('inspect', 'show an API key', (command) =>
    command.argument(
      '<key-or-id>',
      'the id, the API key, or a text that contains it. - reads it from standard input, because other users can see arguments',
      (text: string) => (/^\d+$/.test(text) ? parseId(text) : text),
    ),
  )
  async inspect(keyOrId: bigint | string) {
    const key = await this.keys.inspect(keyOrId === '-' ? await firstLine() : keyOrId);
    const { decisions: [counters] = [], problem } = await this.counters.read([countedKey(key)]);
    this.noteProblem(problem);
    const { id, firstKeyId, successorId } = key;
    const lineage = { firstKeyId: firstKeyId ?? id, successorId };
    const shown = shownKey(key, counters);
    return {
      ...shown,
      ...shownBan(shown.status, counters),
      ...this.keys.findLimits(key),
      ...lineage,
    };
  }

  /** On a terminal, asks if a new name may be a misspelled one. */
  private async announceNewOwner(name: string, plan: string): Promise<void> {
    const similar = await this.owners.findSimilar(name);
    if (!similar) return;
    const announcement = `New owner "${name}", plan ${plan}.`;
    if (similar.length === 0) return this.terminal.note(announcement);
    const names = similar.map((one) => `"${one}"`).join(', ');
    const effect = `${announcement} There are owners with a similar name: ${names}.`;
    if (process.stdin.isTTY) await this.terminal.confirm(effect, {}, true);
    else this.terminal.note(effect);
  }

  private noteBans(): void {
    const { command } = this.terminal;
    this.terminal.note(
      `\`${command} keys inspect ID\` shows when a ban ends, and \`${command} keys unban ID\` ends it now.`,
    );
  }

  private noteProblem(problem: string | undefined): void {
    if (problem === undefined) return;
    const { command } = this.terminal;
    this.terminal.note(
      `${problem} The log line "API key banned" of the service has the id of the key and the end of the ban. \`${command} keys unban ID\` ends a ban.`,
    );
  }
}

function countedKey({ id, ownerId, owner, firstKeyId, unbanCount }: ApiKey): Counted {
  return { ownerId, owner, firstKeyId: firstKeyId ?? id, unbanCount };
}

/** Returns the first line of standard input. */
async function firstLine(): Promise<string> {
  try {
    for await (const line of createInterface({ input: process.stdin })) return line.trim();
    return '';
  } finally {
    // Otherwise, an open pipe keeps the process.
    process.stdin.destroy();
  }
}

function shownIssuedKey({ id, owner, key, expiresAt, access, note }: IssuedKey) {
  return { id, owner: owner.name, plan: owner.plan, key, expiresAt, access, note };
}

/** Returns the end of a ban, null without one. Nobody knows it if the counters cannot be read. */
function shownBan(status: string, counters?: RateLimitDecision) {
  if (!counters) return {};
  return { bannedUntil: status === 'banned' ? new Date(counters.bannedUntilMs) : null };
}

/** @param counters undefined: they cannot be read */
function shownKey(key: ApiKey, counters?: RateLimitDecision) {
  const { id, owner, hint, access, note, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const isBanned = /active|rotated/.test(key.status) && Boolean(counters?.bannedUntilMs);
  const status = isBanned ? 'banned' : key.status;
  const times = { createdAt, lastUsedAt, expiresAt, revokedAt };
  return { id, owner: owner.name, plan: owner.plan, hint, access, note, status, ...times };
}
