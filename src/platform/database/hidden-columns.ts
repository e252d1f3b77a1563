import {
  type EntityMetadata,
  type EntitySubscriberInterface,
  EventSubscriber,
  type ObjectLiteral,
} from 'typeorm';

interface SavedEntity {
  readonly entity?: ObjectLiteral | undefined;
  readonly metadata: EntityMetadata;
}

/**
 * Removes columns with `select: false` from entities that were saved, as they are missing from those that were
 * read. TypeORM's `save()` would set them to null, and a response would contain them.
 */
@EventSubscriber()
export class HiddenColumns implements EntitySubscriberInterface {
  afterInsert(event: SavedEntity): void {
    removeHidden(event);
  }

  afterUpdate(event: SavedEntity): void {
    removeHidden(event);
  }
}

function removeHidden({ entity, metadata }: SavedEntity): void {
  // `update(id, values)` and `insert(values)` pass the values of their caller.
  if (typeof metadata.target !== 'function' || !(entity instanceof metadata.target)) return;
  for (const { isSelect, propertyName } of metadata.columns)
    if (!isSelect) Reflect.deleteProperty(entity, propertyName);
}
