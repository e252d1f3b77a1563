import pg from 'pg';
import type { EntityManager, EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { RowChange } from '../terminal.js';
import { queryRows, tableOf } from '../../database/sql.js';
import { parseExact } from '../../http/body/parse-json.js';
import { jsonText } from '../../http/response/json-text.js';
import { inAcceptedLines, type InvalidLine, storeAccepted } from './rejected-lines.js';
import { hasRevision, REVISION, revisionOf } from './revision.js';

/** The temporary table. It hides a table of an entity with the same name. */
const STAGED = '"#staged"';

/** How many rows were added, and the range of their ids. */
export type AddedRows = Record<'added' | 'firstId' | 'lastId', bigint | null>;

/** A row of a file. */
export interface StagedRow {
  /** The number of its line. */
  readonly line: number;
  readonly values: object;
  /** Properties whose cell is empty, or null in JSON. */
  readonly empty: readonly string[];
  /** That of the stored row at the export, if the file has it. */
  readonly revision?: string | undefined;
  /** As the file has it, if it is needed for a rejection. */
  readonly text?: string | undefined;
}

/** Gets a line that is not stored, with the reason, and as the file has it. */
export type Reject = (line: number, reason: string, text: string) => void;

/** A row that the staged rows differ from. */
export interface Difference extends RowChange {
  /** Whether the row has been changed since the export. */
  readonly isStale: boolean;
}

/** A changed row. */
export interface UpdatedRow {
  readonly id: bigint;
  /** Its values before the change as texts by property, and its revision after it. */
  readonly former: Readonly<Record<string, string | null>>;
}

/**
 * The rows of a file in a temporary table, which only the open transaction sees, until all are known to
 * be valid. In the table of the entity, lists would have to skip the uncommitted rows.
 */
export class StagedRows {
  private readonly columns: EntityMetadata['columns'];
  private readonly id: string;
  private readonly table: string;
  private lastLine = 0;

  /**
   * @param manager of the open transaction, which drops the table
   * @param properties those of the rows that are stored
   * @param columnOf returns the name of a property in the file, for messages
   * @param isNullClear returns whether an update clears a property that is null, once the file is read
   */
  constructor(
    private readonly manager: EntityManager,
    private readonly metadata: EntityMetadata,
    private readonly properties: readonly string[],
    private readonly columnOf: (property: string) => string = String,
    private readonly isNullClear: () => boolean = () => false,
  ) {
    this.columns = metadata.columns.filter(({ propertyName }) => properties.includes(propertyName));
    this.id = this.escape(metadata.primaryColumns[0]?.databaseName ?? '');
    this.table = tableOf(metadata);
  }

  async create(): Promise<void> {
    await queryRows(
      this.manager,
      `CREATE TEMP TABLE ${STAGED} ON COMMIT DROP AS
       SELECT 0::bigint AS "#", NULL::text[] AS "#empty", NULL::text AS "#revision", NULL::text AS "#text", ${this.names()} FROM ${this.table} WITH NO DATA`,
    );
  }

  /**
   * @param reject gets the lines with values that a column cannot store
   * @throws RejectedLines with these, without `reject`
   */
  async add(rows: readonly StagedRow[], reject?: Reject): Promise<void> {
    const first = rows[0];
    const last = rows.at(-1);
    if (!first || !last) return;
    this.lastLine = last.line;
    const range = [first.line, last.line] as const;
    const addRange = (from: number, to: number) =>
      this.addEach(rows.filter(({ line }) => from <= line && line <= to));
    if (!reject) return inAcceptedLines(this.manager, this.nameOf, range, addRange);
    const { rejected } = await storeAccepted(this.manager, this.nameOf, range, addRange);
    const texts = new Map(rows.map(({ line, text = '' }) => [line, text]));
    for (const [line, reason] of rejected) reject(line, reason, texts.get(line) ?? '');
  }

  private async addEach(rows: readonly StagedRow[]): Promise<void> {
    const records = rows.map(({ line, values, empty, revision, text }) => {
      const row: Record<string, unknown> = {
        '#': line,
        '#empty': empty,
        '#revision': revision,
        '#text': text,
      };
      for (const { databaseName, propertyName } of this.columns)
        row[databaseName] = (values as Record<string, unknown>)[propertyName];
      return row;
    });
    const sql = `INSERT INTO ${STAGED} SELECT * FROM json_populate_recordset(NULL::${STAGED}, $1)`;
    await queryRows(this.manager, sql, [jsonText(records)]);
  }

  /**
   * Adds the staged rows to the table of the entity, in their order. A missing value gets its default.
   *
   * @param reject gets the lines that violate a constraint
   * @throws RejectedLines with these, without `reject`
   */
  async insert(reject?: Reject): Promise<AddedRows> {
    const range = [1, this.lastLine] as const;
    const insertRange = (from: number, to: number) => this.insertLines(from, to);
    if (!reject) return inAcceptedLines(this.manager, this.nameOf, range, insertRange);
    await queryRows(this.manager, `CREATE INDEX ON ${STAGED} ("#")`);
    const found = await storeAccepted(this.manager, this.nameOf, range, insertRange);
    const reasons = new Map(found.rejected);
    const texts = await queryRows<{ line: bigint; text: string }>(
      this.manager,
      `SELECT "#" AS line, "#text" AS text FROM ${STAGED} WHERE "#" = ANY($1)`,
      [[...reasons.keys()]],
    );
    for (const { line, text } of texts) reject(Number(line), reasons.get(Number(line)) ?? '', text);
    const ids = found.results.filter(({ added }) => added !== 0n);
    return {
      added: ids.reduce((sum, { added }) => sum + (added ?? 0n), 0n),
      firstId: ids[0]?.firstId ?? null,
      lastId: ids.at(-1)?.lastId ?? null,
    };
  }

  private async insertLines(from: number, to: number): Promise<AddedRows> {
    const { driver } = this.metadata.dataSource;
    const values = this.columns.map((column) => {
      const name = this.escape(column.databaseName);
      const value = driver.normalizeDefault(column);
      if (value === undefined) return name;
      const isNull = `${pg.escapeLiteral(column.propertyName)} = ANY("#empty")`;
      const given = `coalesce(${name}, ${value})`;
      return column.isNullable ? `CASE WHEN ${isNull} THEN NULL ELSE ${given} END` : given;
    });
    const names = [this.names()];
    // TypeORM sets the first version in its inserts, not as a default of the column.
    const { versionColumn } = this.metadata;
    if (versionColumn) {
      names.push(this.escape(versionColumn.databaseName));
      values.push('1');
    }
    const [added] = await queryRows<AddedRows>(
      this.manager,
      `WITH added AS (
         INSERT INTO ${this.table} (${names.join(', ')})
         SELECT ${values.join(', ')} FROM ${STAGED} WHERE "#" BETWEEN $1 AND $2 ORDER BY "#" RETURNING ${this.id} AS id)
       SELECT count(*) AS added, min(id) AS "firstId", max(id) AS "lastId" FROM added`,
      [from, to],
    );
    return added as AddedRows;
  }

  /**
   * Returns the first lines that cannot update a row, and how many there are: a repeated id, and an
   * empty cell where the row has a value.
   */
  async invalidUpdates(limit: number): Promise<{ lines: InvalidLine[]; total: number }> {
    const required = this.isNullClear() ? [] : this.changeable();
    const empty = required.map(({ propertyName, databaseName }) => {
      const property = pg.escapeLiteral(propertyName);
      return `
        UNION ALL
        SELECT staged."#", ${pg.escapeLiteral(this.columnOf(propertyName))} || ' is empty, but has a value so far' ${this.joined()}
         WHERE ${property} = ANY(staged."#empty") AND stored.${this.escape(databaseName)}::text <> ''`;
    });
    const rows = await queryRows<{ line: bigint; reason: string; total: bigint }>(
      this.manager,
      `SELECT line, string_agg(reason, '; ') AS reason, count(*) OVER () AS total
         FROM (SELECT "#" AS line, 'the id is also in line ' || previous AS reason
                 FROM (SELECT "#", lag("#") OVER (PARTITION BY ${this.id} ORDER BY "#") AS previous
                         FROM ${STAGED}) AS staged
                WHERE previous IS NOT NULL ${empty.join('')}) AS invalid
        GROUP BY line ORDER BY line LIMIT ${limit}`,
    );
    const lines = rows.map(({ line, reason }) => [Number(line), reason] as const);
    return { lines, total: Number(rows[0]?.total ?? 0) };
  }

  /** Returns the first rows that the staged rows differ from, and how many there are. */
  async differences(limit: number): Promise<{ differences: Difference[]; total: number }> {
    const changes = this.changeable().map((column) => {
      const name = this.escape(column.databaseName);
      const pair = `jsonb_build_array(stored.${name}, staged.${name})`;
      const property = pg.escapeLiteral(column.propertyName);
      return `CASE WHEN ${this.differs(column)} THEN jsonb_build_object(${property}, ${pair}) ELSE '{}' END`;
    });
    const isStale = `staged."#revision" <> ${revisionOf(this.metadata, this.properties, 'stored')}`;
    type Row = Omit<Difference, 'changes'> & { changes: string; total: bigint };
    const rows = await queryRows<Row>(
      this.manager,
      `SELECT stored.${this.id} AS id, (${["'{}'::jsonb", ...changes].join(' || ')})::text AS changes,
              coalesce(${isStale}, false) AS "isStale", count(*) OVER () AS total
         ${this.joined()} WHERE ${this.anyDiffers()} ORDER BY stored.${this.id} LIMIT ${limit}`,
    );
    const differences = rows.map(({ id, changes, isStale }) => {
      return { id, changes: parseExact(changes) as Difference['changes'], isStale };
    });
    return { differences, total: Number(rows[0]?.total ?? 0) };
  }

  /** Locks the rows that the staged rows differ from until the transaction ends, and drops all others. */
  async lockDifferent(): Promise<void> {
    await queryRows(
      this.manager,
      `WITH locked AS (
         SELECT stored.${this.id} AS id ${this.joined()} WHERE ${this.anyDiffers()}
          ORDER BY stored.${this.id} FOR NO KEY UPDATE OF stored)
       DELETE FROM ${STAGED} AS staged WHERE NOT EXISTS (SELECT FROM locked WHERE locked.id = staged.${this.id})`,
    );
  }

  /**
   * Changes the rows that the staged rows differ from, which are locked. Returns them in the order of their ids.
   *
   * @throws RejectedLines with those that violate a constraint
   */
  update(): Promise<UpdatedRow[]> {
    return inAcceptedLines(this.manager, this.nameOf, [1, this.lastLine], (from, to) =>
      this.updateLines(from, to),
    );
  }

  private async updateLines(from: number, to: number): Promise<UpdatedRow[]> {
    const { updateDateColumn, versionColumn } = this.metadata;
    const values = this.changeable().map((column) => {
      const name = this.escape(column.databaseName);
      return `${name} = CASE WHEN ${this.isGiven(column)} THEN staged.${name} ELSE stored.${name} END`;
    });
    if (updateDateColumn) values.push(`${this.escape(updateDateColumn.databaseName)} = now()`);
    if (versionColumn) {
      const version = this.escape(versionColumn.databaseName);
      values.push(`${version} = stored.${version} + 1`);
    }
    const former = this.columns.map(({ databaseName, propertyName }) => {
      return `former.${this.escape(databaseName)}::text AS ${this.escape(propertyName)}`;
    });
    if (hasRevision(this.properties)) {
      former.push(`${revisionOf(this.metadata, this.properties, 'stored')} AS ${REVISION}`);
    }
    const rows = await queryRows<UpdatedRow['former'] & { '#id': bigint }>(
      this.manager,
      `WITH changed AS (
         UPDATE ${this.table} AS stored SET ${values.join(', ')} FROM ${STAGED} AS staged, ${this.table} AS former
          WHERE stored.${this.id} = staged.${this.id} AND former.${this.id} = staged.${this.id} AND staged."#" BETWEEN $1 AND $2
            AND (${this.anyDiffers()}) RETURNING stored.${this.id} AS "#id", ${former.join(', ')})
       SELECT * FROM changed ORDER BY "#id"`,
      [from, to],
    );
    return rows.map(({ '#id': id, ...former }) => ({ id, former }));
  }

  /** Returns the first ids of staged rows that no row has, and how many there are. */
  async missing(limit: number): Promise<{ ids: bigint[]; total: number }> {
    const rows = await queryRows<{ id: bigint; total: bigint }>(
      this.manager,
      `SELECT ${this.id} AS id, count(*) OVER () AS total FROM ${STAGED} AS staged
        WHERE NOT EXISTS (SELECT FROM ${this.table} AS stored WHERE stored.${this.id} = staged.${this.id})
        ORDER BY id LIMIT ${limit}`,
    );
    return { ids: rows.map(({ id }) => id), total: Number(rows[0]?.total ?? 0) };
  }

  private readonly nameOf = (column: string): string => {
    const found = this.metadata.columns.find(({ databaseName }) => databaseName === column);
    return found ? this.columnOf(found.propertyName) : column;
  };

  private changeable(): ColumnMetadata[] {
    return this.columns.filter(({ isPrimary }) => !isPrimary);
  }

  private joined(): string {
    return `FROM ${STAGED} AS staged JOIN ${this.table} AS stored ON stored.${this.id} = staged.${this.id}`;
  }

  private anyDiffers(): string {
    return this.changeable()
      .map((column) => this.differs(column))
      .join(' OR ');
  }

  private differs(column: ColumnMetadata): string {
    // PostgreSQL cannot compare values of the type json.
    const isJson = this.metadata.dataSource.driver.normalizeType(column) === 'json';
    const name = `${this.escape(column.databaseName)}${isJson ? '::text' : ''}`;
    return `(${this.isGiven(column)} AND staged.${name} IS DISTINCT FROM stored.${name})`;
  }

  /** Returns the condition that a row of the file has a value of a property, or clears it. */
  private isGiven({ databaseName, propertyName }: ColumnMetadata): string {
    const isGiven = `staged.${this.escape(databaseName)} IS NOT NULL`;
    if (!this.isNullClear()) return isGiven;
    return `(${isGiven} OR ${pg.escapeLiteral(propertyName)} = ANY(staged."#empty"))`;
  }

  private names(): string {
    return this.columns.map(({ databaseName }) => this.escape(databaseName)).join(', ');
  }

  private escape(name: string): string {
    return this.metadata.dataSource.driver.escape(name);
  }
}
