import pg from 'pg';
import type { EntityMetadata } from 'typeorm';
import { tableOf } from '../../database/sql.js';
import { REVISION, revisionOf } from './revision.js';

export const EXPORT_FORMATS = ['csv', 'ndjson', 'json'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** JSON contains neither character, so that COPY writes it unchanged. */
const AS_TEXT = String.raw`(FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02')`;

/**
 * Returns a COPY of rows with these properties, in the order of their ids, in a form that an import
 * reads. A value that is missing is an empty cell of CSV, and no member of JSON.
 */
export function exportStatement(
  metadata: EntityMetadata,
  properties: readonly string[],
  format: ExportFormat,
  where: Readonly<Record<string, string | undefined>>,
  { withRevision, excel }: { withRevision: boolean; excel?: true | undefined },
): string {
  const { driver } = metadata.dataSource;
  const escape = (name: string) => driver.escape(name);
  const columns = metadata.columns.filter(({ propertyName }) => properties.includes(propertyName));
  const selected = columns.map(
    (one) => `${escape(one.databaseName)} AS ${escape(one.propertyName)}`,
  );
  if (withRevision) {
    selected.push(`${revisionOf(metadata, properties, tableOf(metadata))} AS ${REVISION}`);
  }
  // COPY has no parameters.
  const conditions = metadata.columns.flatMap(({ propertyName, databaseName }) => {
    const value = where[propertyName];
    return value === undefined ? [] : [`${escape(databaseName)} = ${pg.escapeLiteral(value)}`];
  });
  const order = metadata.primaryColumns.map(({ databaseName }) => escape(databaseName)).join(', ');
  const rows = `
    SELECT ${selected.join(', ')} FROM ${tableOf(metadata)}
     WHERE ${['true', ...conditions].join(' AND ')} ORDER BY ${order}`;
  // Without nulls, an import would set the default. It would also lose nulls in a JSON value.
  const needsNulls = columns.some(
    (column) =>
      (column.isNullable && column.default !== undefined) ||
      /^jsonb?$/.test(driver.normalizeType(column)),
  );
  const row = 'row_to_json("#row")';
  const json = needsNulls ? row : `json_strip_nulls(${row})`;
  const [output, options] = {
    csv: ['*', `(FORMAT csv, HEADER, DELIMITER '${excel ? ';' : ','}')`],
    ndjson: [json, AS_TEXT],
    json: [`concat(CASE WHEN row_number() OVER () > 1 THEN ',' END, ${json})`, AS_TEXT],
  }[format] as [string, string];
  return `COPY (SELECT ${output} FROM (${rows}) AS "#row") TO STDOUT ${options}`;
}
