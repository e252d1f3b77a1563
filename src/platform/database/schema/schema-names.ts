import { DefaultNamingStrategy, type Table, type View } from 'typeorm';

/** Names constraints and indexes that an entity does not name, in the way PostgreSQL does. */
export class SchemaNames extends DefaultNamingStrategy {
  override primaryKeyName(table: Table | string): string {
    return `${this.getTableName(table)}_pkey`;
  }

  override uniqueConstraintName(table: Table | string, columns: string[]): string {
    return this.joined(table, columns, 'key');
  }

  /** Of the columns of a one-to-one relation. */
  override relationConstraintName(table: Table | string, columns: string[]): string {
    return this.joined(table, columns, 'key');
  }

  override foreignKeyName(table: Table | string, columns: string[]): string {
    return this.joined(table, columns, 'fkey');
  }

  override indexName(table: Table | View | string, columns: string[]): string {
    return this.joined(table, columns, 'idx');
  }

  override checkConstraintName(table: Table | string, expression: string): string {
    return this.joined(table, wordsOf(expression).slice(0, 1), 'check');
  }

  override exclusionConstraintName(table: Table | string, expression: string): string {
    return this.joined(table, wordsOf(expression).slice(0, 1), 'excl');
  }

  private joined(table: Table | View | string, columns: readonly string[], kind: string): string {
    const name = this.getTableName(typeof table === 'string' ? table : table.name);
    return [name, ...columns, kind].join('_');
  }
}

/** Returns the lower-case words of an expression that call no function: its columns, most likely. */
function wordsOf(expression: string): string[] {
  return expression.replace(/'[^']*'/g, '').match(/\b[a-z_]\w*\b(?!\s*\()/g) ?? [];
}
