import { Injectable, type Type } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditTrail } from '../access/administration/operator-actions.repository.js';
import { Terminal } from '../commands/terminal.js';
import { copyOutput } from '../database/copy/copy-output.js';
import { ServiceError } from '../errors/service-error.js';
import { toDto } from '../http/validation/dto-validation.pipe.js';
import { Drafts } from './drafts.js';
import { exportStatement } from './export-statement.js';
import { UnreadableLine } from './file-text.js';
import type { ExportOptions, ImportOptions } from './file-options.js';
import { RowFile } from './row-file.js';
import { entityProperties, rowProperties } from './row-properties.js';

const BATCH = 1_000;
const MAX_REPORTED = 20;

/** The rows of an entity that a file has or gets. */
export interface FileRows<Dto extends object> {
  /** The first word of the commands, such as `toys`: it stands in messages and in the audit trail. */
  readonly name: string;
  readonly entity: Type;
  /** The rules of a row. Its properties with a column of the entity are stored and exported. */
  readonly dto: Type<Dto>;
}

/** Imports and exports rows for commands. */
@Injectable()
export class RowFiles {
  constructor(
    private readonly dataSource: DataSource,
    private readonly terminal: Terminal,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Adds the rows of a file in their order, in one transaction, and records it. The entity has a
   * generated integer as its id.
   *
   * @param path `-`: standard input
   * @throws Error that lists the first invalid lines, or says why the file cannot be read or has no rows
   */
  async import<Dto extends object>(
    { name, entity, dto }: FileRows<Dto>,
    path: string,
    { map, delimiter, dryRun }: ImportOptions,
  ) {
    const properties = await rowProperties(dto, entity);
    const separator = delimiter === 'tab' ? '\t' : delimiter;
    const file = new RowFile(path, properties, { map, delimiter: separator });
    const metadata = this.dataSource.getMetadata(entity);
    return this.dataSource.transaction(async (manager) => {
      const names = properties.map((property) => property.name);
      const drafts = new Drafts(manager, metadata, names);
      await drafts.create();
      const valid = await this.readValid(file, dto, (rows) => drafts.add(rows));
      if (valid === 0) throw new Error(`Nothing was added. There are no ${name} in the input.`);
      const added = dryRun ? undefined : await drafts.insert();
      if (added) await this.audit.record(`${name} import`, added);
      const { ignoredColumns } = file;
      return { valid, ...(added ?? { added: 0, firstId: null, lastId: null }), ignoredColumns };
    });
  }

  /** Yields the text of all rows that have these values, in the order of their ids. */
  export<Dto extends object>(
    { entity, dto }: FileRows<Dto>,
    { format, json }: ExportOptions,
    where: Readonly<Record<string, string | undefined>> = {},
  ): AsyncIterable<string | Buffer> {
    const metadata = this.dataSource.getMetadata(entity);
    const properties = entityProperties(dto, entity);
    const sql = exportStatement(metadata, properties, json ? 'json' : format, where);
    return json ? array(copyOutput(this.dataSource, sql)) : copyOutput(this.dataSource, sql);
  }

  /**
   * Passes on the rows of a file that keep the rules, in batches. Returns how many there are.
   *
   * @throws Error that lists the first invalid lines
   */
  private async readValid<Dto extends object>(
    file: RowFile,
    dto: Type<Dto>,
    keep: (rows: readonly Dto[]) => Promise<void>,
  ): Promise<number> {
    let lines = 0;
    let invalid = 0;
    const reports: string[] = [];
    let batch: Dto[] = [];
    try {
      for await (const [line, read] of file.lines()) {
        lines++;
        try {
          batch.push(await toDto(dto, read()));
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const reason = error.message.replace(/^The request body |\.$/g, '');
          if (++invalid <= MAX_REPORTED) reports.push(`line ${line}: ${reason}`);
        }
        if (lines % BATCH > 0) continue;
        if (invalid === 0) await keep(batch);
        batch = [];
        this.terminal.progress(`${lines} lines`);
      }
    } catch (error) {
      if (!(error instanceof UnreadableLine)) throw error;
      const summary = 'Nothing was added, because the file cannot be read to its end';
      throw new Error([summary, ...reports, error.message].join('\n'), { cause: error });
    } finally {
      this.terminal.progress();
    }
    if (invalid > MAX_REPORTED) reports.push(`and ${invalid - MAX_REPORTED} more`);
    const summary = `Nothing was added. Invalid lines: ${invalid} of ${lines}`;
    if (invalid > 0) throw new Error([summary, ...reports].join('\n'));
    await keep(batch);
    return lines;
  }
}

async function* array(items: AsyncIterable<Buffer>): AsyncGenerator<string | Buffer> {
  yield '[\n';
  yield* items;
  yield ']\n';
}
