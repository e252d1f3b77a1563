import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource, type EntityMetadata } from 'typeorm';
import { StartError } from '../../errors/start-error.js';

/** Stops the start when TypeORM would not treat an int8 column as its declaration says. */
@Injectable()
export class EntityCheck implements OnModuleInit {
  constructor(private readonly dataSource: DataSource) {}

  /** @throws StartError with one line for each property */
  onModuleInit(): void {
    const columns = this.dataSource.entityMetadatas.flatMap((entity) => entity.columns);
    const problems = columns
      .filter(isWrong)
      .map(
        ({ entityMetadata, propertyName }) =>
          `${entityMetadata.targetName}.${propertyName}: an int8 column is a bigint. Declare the property as bigint, and a generated id with @PrimaryGeneratedColumn('identity', { type: 'bigint' }).`,
      );
    if (problems.length > 0) throw new StartError(problems.join('\n'));
  }
}

function isWrong(column: EntityMetadata['columns'][number]): boolean {
  const { target, type, transformer, propertyName, generationStrategy } = column;
  // The table of a many-to-many relation has no class, and the column of @JoinColumn() no property.
  if (typeof target !== 'function' || transformer) return false;
  if (type !== 'bigint' && type !== 'int8') return false;
  // save() returns a generated id of the strategy 'increment' as text.
  if (generationStrategy === 'increment') return true;
  const declared: unknown = Reflect.getMetadata(
    'design:type',
    target.prototype as object,
    propertyName,
  );
  return declared === String || declared === Number;
}
