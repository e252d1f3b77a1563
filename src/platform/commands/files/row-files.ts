import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { Injectable, type Type } from '@nestjs/common';
import { Between, DataSource, type EntityManager, type EntityMetadata } from 'typeorm';
import { AuditTrail } from '../../access/administration/operator-actions.repository.js';
import { isConnectionLost } from '../command-failure.js';
import { LinesError } from '../lines-error.js';
import { changedValues, Terminal } from '../terminal.js';
import { copyOutput } from '../../database/copy/copy-output.js';
import { withShortLocks } from '../../database/short-locks.js';
import { queryRows } from '../../database/sql.js';
import { ServiceError } from '../../errors/service-error.js';
import { jsonText } from '../../http/response/json-text.js';
import { ChangesOf } from '../../http/validation/changes-of.js';
import { toDto } from '../../http/validation/dto-validation.pipe.js';
import { csvRecord } from './csv-text.js';
import {
  type Difference,
  type StagedRow,
  StagedRows,
  type Reject,
  type UpdatedRow,
} from './staged-rows.js';
import { exportStatement } from './export-statement.js';
import { isMisread, UnreadableLine } from './file-text.js';
import type { ExportOptions, ImportOptions, UpdateOptions } from './file-options.js';
import { type InvalidLine, RejectedLines } from './rejected-lines.js';
import { hasRevision, REVISION } from './revision.js';
import { type FileOptions, RowFile } from './row-file.js';
import {
  columnType,
  entityProperties,
  isNullable,
  parserOf,
  type RowProperty,
  rowProperties,
} from './row-properties.js';

const BATCH = 1_000;
const MAX_REPORTED = 20;
const MAX_VALUE = 100;
/** Bounds how long an update locks rows, and its record in the audit trail. */
const MAX_CHANGED = 20_000;

/** The rows of an entity that a file has or gets. Its id is a generated integer. */
export interface FileRows<Dto extends object> {
  /** The first word of the commands, such as `toys`: it stands in messages and in the audit trail. */
  readonly name: string;
  readonly entity: Type;
  /** The rules of a row. Its properties with a column of the entity are stored and exported. */
  readonly dto: Type<Dto>;
}

/** Imports, updates and exports rows for commands. */
@Injectable()
export class RowFiles {
  constructor(
    private readonly dataSource: DataSource,
    private readonly terminal: Terminal,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Adds the rows of a file in their order, in one transaction, and records it, with a hash of the rows:
   * the same rows are added again only with the option `again`. With the option `skipInvalid`, invalid
   * rows are written to the new file `rejects` instead.
   *
   * @param path `-`: standard input
   * @throws Error that lists the first invalid lines, or says why the file cannot be read, has no rows,
   *   or was imported before
   */
  async import<Dto extends object>(
    { name, entity, dto }: FileRows<Dto>,
    path: string,
    { dryRun, again, rejects, skipInvalid, ...options }: ImportOptions,
  ) {
    const properties = await rowProperties(dto, entity);
    const file = new RowFile(path, properties, fileOptions(options));
    const metadata = this.dataSource.getMetadata(entity);
    return this.inTransaction(async (manager, writeNew) => {
      const names = properties.map((property) => property.name);
      const staged = new StagedRows(manager, metadata, names, (property) =>
        file.columnOf(property),
      );
      await staged.create();
      const content = createHash('sha256');
      const defaults = metadata.columns
        .filter((column) => column.isNullable && column.default !== undefined)
        .map(({ propertyName }) => propertyName);
      const nullable = properties.filter(
        (property) => !property.isRequired && isNullable(entity, property.name),
      );
      const rejected: (readonly [line: number, text: string])[] = [];
      const reject: Reject | undefined = skipInvalid
        ? (line, reason, text) => rejected.push([line, file.withReason(text, reason)])
        : undefined;
      const toStagedRow = async (line: number, read: unknown, text: string): Promise<StagedRow> => {
        const { values, empty } = withoutNulls(read, nullable);
        const nulls = Object.fromEntries(empty.map((property) => [property, null]));
        const row = { line, values: { ...(await toDto(dto, values)), ...nulls }, empty };
        return reject ? { ...row, text } : row;
      };
      const total = await this.readValid(file, 'added', {
        toStagedRow,
        reject,
        keep: (batch) => {
          for (const { values } of batch) content.update(canonical(values, names, defaults));
          return staged.add(batch, reject);
        },
      });
      const countValid = () => {
        if (rejected.length < total) return total - rejected.length;
        const which = total > 0 ? `valid ${name}` : name;
        throw new Error(`Nothing was added. There are no ${which} in the input.`);
      };
      const checked = countValid();
      const hash = content.digest();
      if (!again) await this.requireNew(manager, { name, entity }, hash);
      const insert = () => accepted('added', checked, staged.insert(reject));
      const added = dryRun ? undefined : await insert();
      const valid = countValid();
      const sha256 = hash.toString('hex');
      if (dryRun) this.terminal.note('Dry run: nothing was added.');
      if (added) await this.audit.record(`${name} import`, { ...added, sha256 });
      if (added && rejects !== undefined)
        await writeNew(rejects, file.headerWithReason + inOrder(rejected).join(''), 'added');
      const { ignoredColumns } = file;
      return {
        valid,
        ...(skipInvalid && { rejected: rejected.length }),
        ...(added ?? { added: 0, firstId: null, lastId: null }),
        ignoredColumns,
      };
    });
  }

  /** @throws Error if rows with this hash were imported, or another transaction imports them */
  private async requireNew(
    manager: EntityManager,
    { name, entity }: Pick<FileRows<object>, 'name' | 'entity'>,
    hash: Buffer,
  ): Promise<void> {
    const lock = 'SELECT pg_try_advisory_xact_lock($1) AS "isLocked"';
    const [result] = await queryRows<{ isLocked: boolean }>(manager, lock, [
      String(hash.readBigInt64BE()),
    ]);
    if (!result?.isLocked) {
      throw new Error(`Nothing was added. Another command imports the same ${name} at the moment.`);
    }
    const found = await this.audit.find(`${name} import`, { sha256: hash.toString('hex') });
    if (!found) return;
    const { performedAt, actor, details } = found;
    const time = performedAt.toISOString();
    const first = String(details['firstId']);
    const last = String(details['lastId']);
    const id = idOf(this.dataSource.getMetadata(entity));
    const isStored = await manager.existsBy(entity, { [id]: Between(first, last) });
    const removed = isStored ? '' : ' They have been removed since.';
    throw new Error(
      `Nothing was added. ${actor} imported the same ${name} at ${time}, with the ids ${first} to ${last}.${removed} To add them again, set --again.`,
    );
  }

  /**
   * Changes the rows that a file with their ids differs from, in one transaction, and records their ids
   * and the names of the changed properties.
   *
   * A property that a row of the file does not have is left as it is. Null in JSON clears it. An empty
   * cell of CSV is invalid, unless the property has no value.
   *
   * More than 20 changed rows need a confirmation.
   *
   * @param path `-`: standard input
   * @throws Error that lists the first invalid lines, or the first rows that have been changed since the
   *   export of the file, or says why the file cannot be read or has no rows
   */
  async update<Dto extends object>(
    { name, entity, dto }: FileRows<Dto>,
    path: string,
    { dryRun, overwrite, yes, former, json, ...options }: UpdateOptions,
  ) {
    const metadata = this.dataSource.getMetadata(entity);
    const id = idOf(metadata);
    const properties = (await rowProperties(dto, entity)).map((one) => {
      return { ...one, isRequired: false };
    });
    const names = [id, ...properties.map((property) => property.name)];
    const columns = [
      { name: id, isRequired: true, parse: parserOf(columnType(entity, id)) },
      ...properties,
      ...(hasRevision(names) ? [{ name: REVISION, isRequired: false, parse: String }] : []),
    ];
    const file = new RowFile(path, columns, { ...fileOptions(options), emptyIsNull: true });
    const nullable = properties.filter(({ name }) => isNullable(entity, name));
    const Changes = ChangesOf(dto);
    const toStagedRow = async (line: number, values: unknown): Promise<StagedRow> => {
      const { values: given, empty } = withoutNulls(values, nullable);
      const changes = await toDto(Changes, given);
      const { [id]: rowId, [REVISION]: revision } = given as Record<string, unknown>;
      if (typeof rowId !== 'bigint' && !Number.isSafeInteger(rowId)) {
        const given =
          (rowId ?? undefined) === undefined
            ? ` is required and must be`
            : `: ${jsonText(rowId)} is not`;
        throw new ServiceError('invalid_request', `${id}${given} an integer`);
      }
      const known = hasRevision(names) && typeof revision === 'string' ? revision : undefined;
      return { line, values: { ...changes, [id]: rowId }, empty, revision: known };
    };
    return this.inTransaction(async (manager, writeNew) => {
      const columnOf = (property: string) => file.columnOf(property);
      const staged = new StagedRows(manager, metadata, names, columnOf, () => !file.isCsv);
      await staged.create();
      const total = await this.readValid(file, 'changed', {
        toStagedRow,
        keep: (batch) => staged.add(batch),
        check: () => staged.invalidUpdates(MAX_REPORTED),
      });
      if (total === 0) throw new Error(`Nothing was changed. There are no ${name} in the input.`);
      const missing = await staged.missing(MAX_REPORTED);
      const findChanges = async () => {
        const found = await staged.differences(MAX_CHANGED);
        if (found.total > MAX_CHANGED) {
          const problem = `The file changes ${found.total} ${name}, and one command changes at most ${MAX_CHANGED}`;
          throw new Error(`Nothing was changed. ${problem}. Split the file.`);
        }
        if (!overwrite) requireCurrent(name, found.differences);
        return found.differences;
      };
      let found = await findChanges();
      if (!dryRun && found.length > 0) {
        await this.terminal.confirmChanges(name, found, { ...(yes && { yes }) }, misread(found));
        const updated = await withShortLocks(manager, async () => {
          await staged.lockDifferent();
          found = await findChanges();
          return accepted('changed', total, staged.update());
        });
        const changed = properties
          .map((property) => property.name)
          .filter((property) => found.some(({ changes }) => Object.hasOwn(changes, property)));
        await this.audit.record(`${name} update`, { ids: updated.map(({ id }) => id), changed });
        if (former !== undefined) await writeNew(former, formerText(updated, columns), 'changed');
      }
      if (dryRun) this.terminal.note(`Dry run: nothing was changed.`);
      if (found.length > MAX_REPORTED)
        this.terminal.note(
          `Only the first ${MAX_REPORTED} of ${found.length} ${name} are shown. --json has all.`,
        );
      return {
        changed: found.length,
        same: total - found.length - missing.total,
        missing: missing.total,
        missingIds: missing.ids,
        changes: json ? found.map(({ id, changes }) => ({ id, changes })) : changedValues(found),
        ignoredColumns: file.ignoredColumns,
      };
    });
  }

  /**
   * Runs work that may write one new file at its end. The file is removed if the server rejects the commit, and
   * kept if nobody knows whether the commit has succeeded.
   */
  private async inTransaction<Result>(
    work: (manager: EntityManager, write: typeof writeNew) => Promise<Result>,
  ): Promise<Result> {
    let written: string | undefined;
    const write: typeof writeNew = async (path, ...content) => {
      await writeNew(path, ...content);
      written = path;
    };
    try {
      return await this.dataSource.transaction((manager) => work(manager, write));
    } catch (error) {
      if (written !== undefined && !isConnectionLost(error)) await rm(written);
      throw error;
    }
  }

  /** Yields the text of all rows that have these values, in the order of their ids. */
  export<Dto extends object>(
    { entity, dto }: FileRows<Dto>,
    { format, ids, excel, json }: ExportOptions,
    where: Readonly<Record<string, string | undefined>> = {},
  ): AsyncIterable<string | Buffer> {
    const metadata = this.dataSource.getMetadata(entity);
    const properties = [...(ids ? [idOf(metadata)] : []), ...entityProperties(dto, entity)];
    const form = json ? 'json' : format;
    const withRevision = ids === true && hasRevision(properties);
    const sql = exportStatement(metadata, properties, form, where, { withRevision, excel });
    const output = copyOutput(this.dataSource, sql);
    if (form === 'json') return inParts('[\n', output, ']\n');
    return excel ? inParts('\ufeff', output) : output;
  }

  /**
   * Passes on the rows of a file that keep the rules, in batches. Returns how many rows there are.
   *
   * @param effect for messages: nothing was added, or changed
   * @param check finds invalid lines among those that were kept
   * @param reject gets the lines that break the rules, instead of the error
   * @throws Error that lists the first invalid lines
   */
  private async readValid(
    file: RowFile,
    effect: 'added' | 'changed',
    {
      toStagedRow,
      keep,
      check,
      reject,
    }: {
      toStagedRow: (line: number, values: unknown, text: string) => Promise<StagedRow>;
      keep: (batch: readonly StagedRow[]) => Promise<void>;
      check?: () => Promise<{ lines: InvalidLine[]; total: number }>;
      reject?: Reject | undefined;
    },
  ): Promise<number> {
    let lines = 0;
    let invalid = 0;
    const reports: InvalidLine[] = [];
    let batch: StagedRow[] = [];
    const keepBatch = async () => {
      const kept = batch;
      batch = [];
      await keep(kept).catch((error: unknown) => {
        if (!(error instanceof RejectedLines)) throw error;
        invalid += error.lines.length;
        reports.push(...error.lines);
      });
    };
    try {
      for await (const [line, read, text] of file.lines()) {
        lines++;
        let values: unknown;
        try {
          values = read();
          batch.push(await toStagedRow(line, values, text));
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const reason = reasonOf(error, file, values);
          if (reject) reject(line, reason, text);
          else if (++invalid <= MAX_REPORTED) reports.push([line, reason]);
        }
        if (lines % BATCH > 0) continue;
        await keepBatch();
        this.terminal.progress(`${lines} lines`);
      }
      await keepBatch();
    } catch (error) {
      if (!(error instanceof UnreadableLine)) throw error;
      const summary = `Nothing was ${effect}, because the file cannot be read to its end`;
      throw new LinesError([summary, ...textsOf(reports), error.message], error);
    } finally {
      this.terminal.progress();
    }
    for (const option of file.proposedOptions) {
      this.terminal.note(`A column was not read. To read it, set ${option}.`);
    }
    const more = await check?.();
    if (more) {
      invalid += more.total;
      reports.push(...more.lines);
    }
    if (invalid === 0) return lines;
    const texts = textsOf(reports);
    if (invalid > MAX_REPORTED) texts.push(`and ${invalid - MAX_REPORTED} more`);
    throw new LinesError([
      `Nothing was ${effect}. Invalid lines: ${invalid} of ${lines}`,
      ...texts,
    ]);
  }
}

/** Returns why a line is invalid: of CSV with the names and values of the file, of JSON as a request gets it. */
function reasonOf(error: ServiceError, file: RowFile, values: unknown): string {
  const { message, invalidProperties } = error;
  if (invalidProperties.length === 0) return message;
  const reasons = invalidProperties.map(({ property, message: reason, expected }) => {
    if (!file.isCsv) return reason;
    const column = file.columnOf(property);
    const value = (values as Record<string, unknown>)[property];
    const shown = jsonText(typeof value === 'string' ? value.slice(0, MAX_VALUE) : value);
    // A rule of class-validator has only the sentence.
    if (expected === undefined)
      return value === undefined ? `${column}: ${reason}` : `${column} is ${shown}: ${reason}`;
    if (value === undefined) return `${column} is required and must be ${expected}`;
    if (value === null) return `${column} must be ${expected}`;
    return `${column}: ${shown} is not ${expected}`;
  });
  return reasons.join('; ');
}

/** Returns the texts of lines in the order of their numbers. */
function inOrder(lines: readonly (readonly [line: number, text: string])[]): string[] {
  return lines.toSorted(([one], [other]) => one - other).map(([, text]) => text);
}

/** Returns the first invalid lines as text. */
function textsOf(lines: readonly InvalidLine[]): string[] {
  return lines
    .toSorted(([one], [other]) => one - other)
    .slice(0, MAX_REPORTED)
    .map(([line, reason]) => `line ${line}: ${reason}`);
}

/** @throws Error that lists the first rows that have been changed since the export of the file */
function requireCurrent(name: string, differences: readonly Difference[]): void {
  const stale = differences.filter(({ isStale }) => isStale);
  if (stale.length === 0) return;
  const texts = stale.slice(0, MAX_REPORTED).map(({ id, changes }) => {
    const values = Object.entries(changes).map(
      ([property, [before, after]]) =>
        `${property} is ${jsonText(before)}, in the file ${jsonText(after)}`,
    );
    return `id ${id}: ${values.join('; ')}`;
  });
  if (stale.length > MAX_REPORTED) texts.push(`and ${stale.length - MAX_REPORTED} more`);
  throw new LinesError([
    `Nothing was changed. Changed since the export of the file: ${stale.length} ${name}`,
    ...texts,
    'Export them again or remove their lines from the file. To replace what is stored, set --overwrite.',
  ]);
}

/** Returns a warning if text was read in a wrong encoding before it came into the file. */
function misread(differences: readonly Difference[]): string[] {
  const is = (value: unknown) => typeof value === 'string' && isMisread(value);
  const values = differences.flatMap(({ changes }) =>
    Object.values(changes).flatMap(([before, after]) => (is(after) && !is(before) ? [after] : [])),
  );
  if (values.length === 0) return [];
  return [
    `${values.length} of the new values look like UTF-8 that was opened as windows-1252, such as ${jsonText(values[0])}.`,
  ];
}

/**
 * Returns the rows as they were: as CSV, or as JSON lines if a value is null, which an empty cell of CSV
 * does not restore.
 */
function formerText(updated: readonly UpdatedRow[], properties: readonly RowProperty[]): string {
  const rows = updated.map(({ former }) => former);
  const jsonLine = (row: UpdatedRow['former']) => {
    const values = properties.map(({ name, parse }) => {
      const text = row[name] ?? null;
      return [name, text === null ? null : parse(text)] as const;
    });
    return `${jsonText(Object.fromEntries(values))}\n`;
  };
  const hasNull = rows.some((row) => Object.values(row).includes(null));
  const records = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))];
  const lines = hasNull ? rows.map(jsonLine) : records.map((cells) => csvRecord(cells));
  return lines.join('');
}

/** @throws Error if the file exists or cannot be written */
async function writeNew(path: string, text: string, effect: 'added' | 'changed'): Promise<void> {
  await writeFile(path, text, { flag: 'wx', flush: true }).catch(async (cause: unknown) => {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    // It is new, but incomplete.
    if (syscall !== 'open') await rm(path);
    const reason = code === 'EEXIST' ? 'already exists' : `cannot be written (${code})`;
    throw new Error(`Nothing was ${effect}. The file "${path}" ${reason}.`, { cause });
  });
}

/** @throws Error that lists the lines that the database rejects */
async function accepted<Result>(
  effect: 'added' | 'changed',
  total: number,
  stored: Promise<Result>,
): Promise<Result> {
  return stored.catch((error: unknown) => {
    if (!(error instanceof RejectedLines)) throw error;
    const count = `${error.isCut ? 'at least ' : ''}${error.lines.length}`;
    const summary = `Nothing was ${effect}. Invalid lines: ${count} of ${total}`;
    throw new LinesError([summary, ...textsOf(error.lines)], error);
  });
}

/** Returns the values of a row without those that are null, and the names of these. */
function withoutNulls(values: unknown, nullable: readonly RowProperty[]) {
  if (!(values instanceof Object) || Array.isArray(values)) return { values, empty: [] };
  const given = { ...(values as Record<string, unknown>) };
  const empty = nullable.map(({ name }) => name).filter((name) => given[name] === null);
  for (const name of empty) Reflect.deleteProperty(given, name);
  return { values: given, empty };
}

function fileOptions({ delimiter, ...options }: FileOptions): FileOptions {
  return { ...options, delimiter: delimiter === 'tab' ? '\t' : delimiter };
}

function idOf({ primaryColumns }: EntityMetadata): string {
  return primaryColumns[0]?.propertyName ?? '';
}

/**
 * Returns the same text for the same values, also after the entity has got an optional property.
 *
 * @param defaults properties for which null is not the same as no value
 */
function canonical(
  values: object,
  properties: readonly string[],
  defaults: readonly string[],
): string {
  const entries = properties.map(
    (name) => [name, (values as Record<string, unknown>)[name]] as const,
  );
  const given = entries
    .filter(([name, value]) => value !== undefined && (value !== null || defaults.includes(name)))
    .toSorted();
  return `${jsonText(given)}\n`;
}

async function* inParts(
  start: string,
  items: AsyncIterable<Buffer>,
  end = '',
): AsyncGenerator<string | Buffer> {
  yield start;
  yield* items;
  yield end;
}
