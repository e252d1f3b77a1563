import pg from 'pg';
import type { EntityMetadata } from 'typeorm';

/** The last column of an export with ids. */
export const REVISION = 'revision';

/** Returns whether the files of an entity have the column: not if it is the name of a property. */
export function hasRevision(properties: readonly string[]): boolean {
  return !properties.includes(REVISION);
}

/**
 * Returns the SQL of a short text that is the same for the same values of a row. A property that is added
 * later and has no value does not change it. It begins with a letter, so that no spreadsheet reads a number.
 *
 * @param properties those of an export, with the id
 * @param table the name or alias of the table
 */
export function revisionOf(
  { columns, dataSource: { driver } }: EntityMetadata,
  properties: readonly string[],
  table: string,
): string {
  const values = columns
    .filter(({ propertyName }) => properties.includes(propertyName))
    .map(({ propertyName, databaseName }) => {
      const value = `quote_literal(${table}.${driver.escape(databaseName)}::text)`;
      return `coalesce(${pg.escapeLiteral(propertyName)} || ${value}, '')`;
    });
  return `'r' || left(encode(sha256(convert_to(${values.join(' || ')}, 'UTF8')), 'hex'), 12)`;
}
