import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource, type EntityMetadata } from 'typeorm';
import { StartError } from '../../errors/start-error.js';

type Column = EntityMetadata['columns'][number];

/** Stops the start when TypeORM would not treat a column as its declaration says. */
@Injectable()
export class EntityCheck implements OnModuleInit {
  constructor(private readonly dataSource: DataSource) {}

  /** @throws StartError with one line for each property */
  onModuleInit(): void {
    const columns = this.dataSource.entityMetadatas.flatMap((entity) => entity.columns);
    const problems = columns.flatMap(problemsOf);
    if (problems.length > 0) throw new StartError(problems.join('\n'));
  }
}

function problemsOf({ target, propertyName, generationStrategy, ...column }: Column): string[] {
  // The table of a many-to-many relation has no class, and the column of @JoinColumn() no property.
  if (typeof target !== 'function') return [];
  const declared: unknown = Reflect.getMetadata(
    'design:type',
    target.prototype as object,
    propertyName,
  );
  const isInt8 = ['bigint', 'int8'].includes(String(column.type)) && !column.transformer;
  // save() returns a generated id of the strategy 'increment' as text.
  if (
    isInt8 &&
    (generationStrategy === 'increment' || declared === String || declared === Number)
  ) {
    return [
      `${target.name}.${propertyName}: an int8 column is a bigint. Declare the property as bigint, and a generated id with @PrimaryGeneratedColumn('identity', { type: 'bigint' }).`,
    ];
  }
  return [];
}
