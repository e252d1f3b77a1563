import { Injectable } from '@nestjs/common';
import { InvalidArgumentError, Option } from 'commander';
import { DataSource, In } from 'typeorm';
import {
  AuditTrail,
  Command,
  countUpTo,
  Operator,
  parseInt64,
  ServiceError,
  toDto,
  YES_OPTION,
} from '#platform';
import { AnimalFile, type ColumnMap, PROPERTIES, UnreadableLine } from './animal-file.js';
import { AnimalsRepository, type ExportFormat, type Selection } from './animals.repository.js';
import { NewPet } from './dto/new-pet.dto.js';
import { Pet, PET_STATUSES, type PetStatus } from './pet.entity.js';

const MAX_LISTED = 10_000;
/** Bounds a transaction, its record in the audit trail, and the question. */
const MAX_IDS = 1_000;
const BATCH = 5_000;
const MAX_REPORTED = 20;

const IDS = ['<ids...>', `the ids of at most ${MAX_IDS} animals`, parseIds] as const;
const CATEGORY = ['--category <id>', 'the category', parseInt64] as const;
const statusOption = () => new Option('--status <status>', 'the status').choices(PET_STATUSES);

interface Changes {
  name?: string;
  category?: bigint;
  status?: PetStatus;
}

interface ImportOptions {
  map?: ColumnMap;
  delimiter: string;
  dryRun?: true;
}

/** The commands `animals …` for operators. */
@Injectable()
export class AnimalsCommands {
  constructor(
    private readonly animals: AnimalsRepository,
    private readonly dataSource: DataSource,
    private readonly operator: Operator,
    private readonly audit: AuditTrail,
  ) {}

  @Command('list', 'list animals, the newest first', (command) =>
    command
      .addOption(statusOption())
      .option(...CATEGORY)
      .option('--limit <n>', 'how many at most', countUpTo(MAX_LISTED), 50),
  )
  list(selection: Selection) {
    return this.animals.list(selection);
  }

  @Command('show', 'show an animal', (command) =>
    command.argument('<id>', 'the id of the animal', parseInt64),
  )
  async show(id: bigint) {
    return (await this.existing([id]))[0];
  }

  @Command('count', 'count the animals by status')
  count() {
    return this.animals.count();
  }

  @Command('change', 'change animals', (command) =>
    command
      .argument(...IDS)
      .addOption(statusOption())
      .option('--name <text>', 'the name')
      .option(...CATEGORY)
      .hook('preAction', async () => {
        const { name, category, status } = command.opts<Changes>();
        if ((name ?? category ?? status) === undefined)
          command.error('error: expected --status, --name or --category');
        const pet = { name: name ?? '-', categoryId: category ?? 0n };
        await toDto(NewPet, pet).catch((error: unknown) =>
          command.error(`error: ${(error as Error).message}`),
        );
      }),
  )
  change(ids: bigint[], { name, category, status }: Changes) {
    const given = Object.entries({ name, categoryId: category, status });
    const changes = given.filter(([, value]) => value !== undefined);
    return this.dataSource.transaction(async () => {
      await this.animals.lock(ids);
      await this.dataSource.manager.update(Pet, { id: In(ids) }, Object.fromEntries(changes));
      await this.audit.record('animals change', { ids, changed: changes.map(([name]) => name) });
      return this.existing(ids);
    });
  }

  @Command('remove', 'remove animals', (command) => command.argument(...IDS).option(...YES_OPTION))
  async remove(ids: bigint[], options: { yes?: true }) {
    const named = (await this.existing(ids)).map(({ id, name }) => `${id} "${name}"`).join(', ');
    const { description } = this.operator.database;
    const effect = `This removes ${named} from ${description}. It cannot be undone.`;
    await this.operator.confirm(effect, options, true);
    return this.dataSource.transaction(async () => {
      await this.animals.lock(ids);
      const removed = await this.existing(ids);
      await this.dataSource.manager.delete(Pet, { id: In(ids) });
      await this.audit.record('animals remove', { ids });
      return removed;
    });
  }

  @Command('import', 'add the animals of a file: CSV, or one JSON object per line', (command) =>
    command
      .argument('<file>', 'the file; -: standard input')
      .option('--map <property=column>', 'read a property from this column', parseMap)
      .addOption(new Option('--delimiter <c>').choices([',', ';', '|', 'tab']).default(','))
      .option('--dry-run', 'only check the file'),
  )
  import(path: string, { map, delimiter, dryRun }: ImportOptions) {
    const file = new AnimalFile(path, map, delimiter === 'tab' ? '\t' : delimiter);
    return this.dataSource.transaction(async () => {
      const valid = await this.check(file).finally(() => this.operator.progress());
      const added = dryRun || valid === 0 ? undefined : await this.animals.addAnimals();
      if (added) await this.audit.record('animals import', added);
      const { ignoredColumns } = file;
      return { valid, ...(added ?? { added: 0, firstId: null, lastId: null }), ignoredColumns };
    });
  }

  @Command('export', 'print all animals in a form that import reads, without ids', (command) =>
    command
      .addOption(statusOption())
      .addOption(new Option('--format <format>').choices(['csv', 'ndjson']).default('csv')),
  )
  export({ status, format, json }: { status?: PetStatus; format: ExportFormat; json?: true }) {
    return this.animals.export(json ? 'json' : format, status);
  }

  /** Returns animals in the order of their ids. @throws Error that lists the ids of missing ones */
  private async existing(ids: readonly bigint[]) {
    const animals = (await this.animals.list({ ids })).reverse();
    const found = new Set(animals.map(({ id }) => id));
    const missing = ids.filter((id) => !found.has(id));
    if (missing.length > 0) throw new Error(`No animal has the id ${missing.join(', ')}.`);
    return animals;
  }

  /** Stores the lines as drafts. Returns how many. @throws Error that lists the first invalid lines */
  private async check(file: AnimalFile): Promise<number> {
    let lines = 0;
    let invalid = 0;
    const reports: string[] = [];
    let batch: NewPet[] = [];
    try {
      for await (const [line, read] of file.lines()) {
        lines++;
        try {
          batch.push(await toDto(NewPet, read()));
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const reason = error.message.replace(/^The request body |\.$/g, '');
          if (++invalid <= MAX_REPORTED) reports.push(`line ${line}: ${reason}`);
        }
        if (lines % BATCH > 0) continue;
        if (invalid === 0) await this.animals.addDrafts(batch);
        batch = [];
        this.operator.progress(`${lines} lines`);
      }
    } catch (error) {
      if (!(error instanceof UnreadableLine)) throw error;
      const summary = 'Nothing was added, because the file cannot be read to its end';
      throw new Error([summary, ...reports, error.message].join('\n'), { cause: error });
    }
    if (invalid > MAX_REPORTED) reports.push(`and ${invalid - MAX_REPORTED} more`);
    const summary = `Nothing was added. Invalid lines: ${invalid} of ${lines}`;
    if (invalid > 0) throw new Error([summary, ...reports].join('\n'));
    await this.animals.addDrafts(batch);
    return lines;
  }
}

function parseIds(text: string, previous: bigint[] = []): bigint[] {
  const ids = new Set([...previous, parseInt64(text)]);
  if (ids.size <= MAX_IDS) return [...ids];
  throw new InvalidArgumentError(`Expected at most ${MAX_IDS} ids.`);
}

function parseMap(text: string, previous: ColumnMap = {}): ColumnMap {
  const [, property = '', column = ''] = /^(\w+)=(.+)$/s.exec(text) ?? [];
  if (PROPERTIES.includes(property))
    return { ...previous, [property]: [...(previous[property] ?? []), column] };
  throw new InvalidArgumentError('Expected a property and a column, such as name=Name.');
}
