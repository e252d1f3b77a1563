import { Injectable } from '@nestjs/common';
import { type Command as CommanderCommand, InvalidArgumentError, Option } from 'commander';
import { DataSource } from 'typeorm';
import {
  AuditTrail,
  changeArguments,
  Command,
  countUpTo,
  type ExportOptions,
  exportArguments,
  type ImportOptions,
  importArguments,
  parseInt64Argument,
  RowFiles,
  Terminal,
  type UpdateOptions,
  updateArguments,
  YES_OPTION,
} from '#platform';
import { NewPet } from './dto/new-pet.dto.js';
import { Pet, PET_STATUSES, type PetStatus } from './pet.entity.js';
import { type Filter, PetsRepository, type Range, type Selection } from './pets.repository.js';

const MAX_LISTED = 10_000;
/** Bounds a transaction, its record in the audit trail, and the question. */
const MAX_IDS = 1_000;
/** Bounds how long a removal of a range or of a status locks animals. */
const MAX_REMOVED = 50_000;

const ANIMALS = { name: 'animals', entity: Pet, dto: NewPet };
const IDS = ['<ids...>', `the ids of at most ${MAX_IDS} animals`, parseIds] as const;
const ALL_IDS: Range = { from: 0n, to: 2n ** 63n - 1n };
const statusOption = () => new Option('--status <status>', 'the status').choices(PET_STATUSES);

/** The commands `animals …` for operators. */
@Injectable()
export class AnimalsCommands {
  constructor(
    private readonly animals: PetsRepository,
    private readonly files: RowFiles,
    private readonly dataSource: DataSource,
    private readonly terminal: Terminal,
    private readonly audit: AuditTrail,
  ) {}

  @Command('list', 'list animals, the newest first', (command) =>
    filterOptions(command)
      .option(
        '--after <id>',
        'only animals after the one with this id in the list',
        parseInt64Argument,
      )
      .option('--limit <n>', `how many, at most ${MAX_LISTED}`, countUpTo(MAX_LISTED), 50),
  )
  async list(selection: Selection & { limit: number }) {
    const listed = await this.animals.search(selection);
    if (listed.length === selection.limit) {
      this.terminal.note(`For older animals, add --after ${listed.at(-1)?.id}.`);
    }
    return listed;
  }

  @Command('show', 'show an animal', (command) =>
    command.argument('<id>', 'the id of the animal', parseInt64Argument),
  )
  async show(id: bigint) {
    return (await this.existing([id]))[0];
  }

  @Command('count', 'count the animals by status')
  count() {
    return this.animals.count();
  }

  @Command(
    'change',
    'change animals',
    (command) => {
      changeArguments(NewPet, Pet)(command.argument(...IDS).option(...YES_OPTION));
    },
    { effect: 'changed' },
  )
  async change(ids: bigint[], { changes, ...options }: { changes: Partial<NewPet>; yes?: true }) {
    const properties = Object.keys(changes) as (keyof NewPet)[];
    const changed = (await this.existing(ids)).map((animal) => {
      const pairs = properties
        .filter((name) => animal[name] !== changes[name])
        .map((name) => [name, [animal[name], changes[name]]] as const);
      return { id: animal.id, changes: Object.fromEntries(pairs) };
    });
    const different = changed.filter((row) => Object.keys(row.changes).length > 0);
    await this.terminal.confirmChanges('animals', different, options);
    return this.dataSource.transaction(async () => {
      await this.animals.lock(ids);
      await this.animals.update(ids, changes);
      await this.audit.record('animals change', { ids, changed: properties });
      return this.existing(ids);
    });
  }

  @Command(
    'remove',
    'remove animals',
    (command) => {
      const [, description, parse] = IDS;
      filterOptions(command.argument('[ids...]', description, parse))
        .option(
          '--from <id>',
          'with --to: all animals with these and the ids between',
          parseInt64Argument,
        )
        .option('--to <id>', 'see --from', parseInt64Argument)
        .option(...YES_OPTION)
        .hook('preAction', () => {
          const { from, to, status, category, name } = command.opts<Partial<Range> & Filter>();
          const isRange = from !== undefined && to !== undefined && from <= to;
          const hasNoRange = from === undefined && to === undefined;
          const hasNoFilter = (status ?? category ?? name) === undefined;
          const isSelection = isRange || (hasNoRange && status !== undefined);
          if (command.args.length > 0 ? !(hasNoRange && hasNoFilter) : !isSelection) {
            command.error('error: expected ids, or --from and --to, or --status');
          }
        });
    },
    { effect: 'removed' },
  )
  remove(
    ids: bigint[] = [],
    { from, to, yes, status, category, name }: Partial<Range> & Filter & { yes?: true },
  ) {
    const options = yes ? { yes } : {};
    const filter = { status, category, name };
    if (ids.length > 0) return this.removeEach(ids, options);
    const range = from === undefined || to === undefined ? ALL_IDS : { from, to };
    return this.removeMatching(range, filter, options);
  }

  private async removeMatching(range: Range, filter: Filter, options: { yes?: true }) {
    // Removes these ids only, not animals that are added before the operator confirms.
    const ids = await this.animals.idsOf(filter, range, MAX_REMOVED + 1);
    if (ids.length > MAX_REMOVED) {
      throw new Error(
        `These are more than ${MAX_REMOVED} animals. Choose a smaller range with --from and --to.`,
      );
    }
    const firstId = ids[0];
    const lastId = ids.at(-1);
    if (firstId === undefined || lastId === undefined) {
      throw new Error(
        range === ALL_IDS
          ? 'No animal matches.'
          : `No matching animal has an id from ${range.from} to ${range.to}.`,
      );
    }
    const [first, last = first] = await this.existing([firstId, lastId]);
    const { description } = this.terminal.database;
    const effect = `This removes ${ids.length} animals, from ${first?.id} "${first?.name}" to ${last?.id} "${last?.name}", from ${description}. It cannot be undone.`;
    await this.terminal.confirm(effect, options, true);
    const result = { removed: ids.length, firstId, lastId };
    await this.removeAll(ids, { ...result, ids, ...filter }, filter);
    return result;
  }

  private async removeEach(ids: bigint[], options: { yes?: true }) {
    const animals = await this.existing(ids);
    const named = animals.map(({ id, name }) => `${id} "${name}"`).join(', ');
    const { description } = this.terminal.database;
    const effect = `This removes ${named} from ${description}. It cannot be undone.`;
    await this.terminal.confirm(effect, options, true);
    await this.removeAll(ids, { ids });
    return animals;
  }

  /**
   * Removes animals, and records it.
   *
   * @throws Error if one of them was removed, or no longer matches the filter, since the confirmation
   */
  private removeAll(ids: readonly bigint[], details: object, filter: Filter = {}): Promise<void> {
    return this.dataSource.transaction(async () => {
      const removed = await this.animals.delete(ids, filter);
      if (removed !== ids.length) {
        throw new Error(
          'Another process changed or removed some of these animals. Nothing was removed. Try again.',
        );
      }
      await this.audit.record('animals remove', details);
    });
  }

  @Command(
    'import',
    'add the animals of a file: CSV, or one JSON object per line',
    importArguments(NewPet),
    { effect: 'added' },
  )
  import(path: string, options: ImportOptions) {
    return this.files.import(ANIMALS, path, options);
  }

  @Command(
    'update',
    'update animals from a file with their ids, such as the output of export --ids',
    updateArguments(NewPet),
    { effect: 'changed' },
  )
  update(path: string, options: UpdateOptions) {
    return this.files.update(ANIMALS, path, options);
  }

  @Command('export', 'print all animals in a form that import reads', (command) =>
    exportArguments(command.addOption(statusOption())),
  )
  export({ status, ...options }: ExportOptions & { status?: PetStatus }) {
    return this.files.export(ANIMALS, options, { status });
  }

  /** Returns animals in the order of their ids. @throws Error that lists the ids of missing ones */
  private async existing(ids: readonly bigint[]) {
    const animals = (await this.animals.search({ ids })).reverse();
    const found = new Set(animals.map(({ id }) => id));
    const missing = ids.filter((id) => !found.has(id));
    if (missing.length > 0) throw new Error(`No animal has the id ${missing.join(', ')}.`);
    return animals;
  }
}

function filterOptions(command: CommanderCommand): CommanderCommand {
  return command
    .addOption(statusOption())
    .option('--category <id>', 'the categoryId', parseInt64Argument)
    .option('--name <text>', 'a part of the name, in any case');
}

function parseIds(text: string, previous: bigint[] = []): bigint[] {
  const ids = new Set([...previous, parseInt64Argument(text)]);
  if (ids.size <= MAX_IDS) return [...ids];
  throw new InvalidArgumentError(`Expected at most ${MAX_IDS} ids.`);
}
