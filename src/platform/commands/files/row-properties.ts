import type { Type } from '@nestjs/common';
import { type ColumnOptions, getMetadataArgsStorage } from 'typeorm';
import type { ServiceError } from '../../errors/service-error.js';
import { parseJson } from '../../http/body/parse-json.js';
import { choicesOf, propertiesOf } from '../../http/validation/dto-rules.js';
import { toDto } from '../../http/validation/dto-validation.pipe.js';

/** A property that a file or an option of a command sets. */
export interface RowProperty {
  readonly name: string;
  readonly isRequired: boolean;
  /** Returns the value that a text means. If it means none, it stays text, which the rules reject. */
  readonly parse: (text: string) => unknown;
  /** The texts that it accepts, if they are few. A file may write them in another case. */
  readonly choices?: readonly string[] | undefined;
}

/** Returns the properties of an entity that a DTO has rules for, in the order of the rules. */
export async function rowProperties(dto: Type<object>, entity: Type): Promise<RowProperty[]> {
  const required: string[] = await toDto(dto, {}).then(
    () => [],
    (error: unknown) => (error as ServiceError).invalidProperties.map(({ property }) => property),
  );
  return entityProperties(dto, entity).map((name) => ({
    name,
    isRequired: required.includes(name),
    parse: parserOf(columnType(entity, name)),
    choices: choicesOf(dto, name),
  }));
}

/** Returns the names of the properties of a DTO that the entity has a column for. */
export function entityProperties(dto: Type<object>, entity: Type): string[] {
  return propertiesOf(dto).filter((name) => columnType(entity, name) !== undefined);
}

/** Returns the type that an entity declares for a column. */
export function columnType(entity: Type, property: string): unknown {
  const options = columnOptions(entity, property);
  return options && (options.type ?? String);
}

/** Returns whether a row of the entity may have no value of a property. */
export function isNullable(entity: Type, property: string): boolean {
  return columnOptions(entity, property)?.nullable === true;
}

/** Returns what an entity declares for a column. Help and usage errors need no database. */
function columnOptions(entity: Type, property: string): ColumnOptions | undefined {
  return getMetadataArgsStorage().columns.find(
    ({ target, propertyName }) =>
      propertyName === property &&
      typeof target === 'function' &&
      (target === entity || entity.prototype instanceof target),
  )?.options;
}

const NUMERIC = /^(?:big|small)?int|^int[248]$|^(?:numeric|decimal|real|float|double)/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** COPY writes the first two. */
const BOOLEANS: Readonly<Record<string, boolean>> = { t: true, f: false, true: true, false: false };

/** Returns a parser of texts for a column of this type. */
export function parserOf(type: unknown): RowProperty['parse'] {
  if (type === Number || NUMERIC.test(String(type)))
    return (text) => (NUMBER.test(text) ? parseJson(Buffer.from(text)) : text);
  if (type === Boolean || String(type).startsWith('bool')) return (text) => BOOLEANS[text] ?? text;
  if (/^jsonb?$/.test(String(type))) return (text) => parseJson(Buffer.from(text));
  return String;
}
