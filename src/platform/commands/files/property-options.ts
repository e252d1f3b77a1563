import type { Type } from '@nestjs/common';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseInt64Argument } from '../arguments.js';
import { ChangesOf } from '../../http/validation/changes-of.js';
import { choicesOf } from '../../http/validation/dto-rules.js';
import { toDto } from '../../http/validation/dto-validation.pipe.js';
import {
  columnType,
  entityProperties,
  isNullable,
  parserOf,
  rowProperties,
} from './row-properties.js';

/**
 * Returns what adds the arguments of a command that changes properties: an option for each property of the DTO that
 * the entity has a column for, and `--clear` for those that are nullable. `categoryId` has `--category`. The
 * method of the command gets the given values as `changes`, by property, and null for a cleared one. Without
 * any, or with an invalid one, the usage is wrong.
 */
export function changeArguments<Dto extends object>(
  dto: Type<Dto>,
  entity: Type,
): (command: Command) => void {
  const Changes = ChangesOf(dto);
  const options = entityProperties(dto, entity).map((property) =>
    propertyOption(dto, entity, property),
  );
  const nullable = options
    .map(({ property }) => property)
    .filter((name) => isNullable(entity, name));
  const parseClear = (text: string, previous: string[] = []): string[] => {
    if (nullable.includes(text)) return [...previous, text];
    throw new InvalidArgumentError(`Allowed choices are ${nullable.join(', ')}.`);
  };
  const clear = new Option('--clear <property>', 'remove the value of this one (repeatable)');
  clear.argParser(parseClear);
  return (command) => {
    for (const { option } of options) command.addOption(option);
    if (nullable.length > 0) command.addOption(clear);
    command.hook('preAction', async () => {
      const given = options.flatMap(({ property, option }) => {
        const value: unknown = command.getOptionValue(option.attributeName());
        return value === undefined ? [] : [[property, value] as const];
      });
      const cleared = command.opts<{ clear?: string[] }>().clear ?? [];
      for (const { property, option } of options) {
        if (cleared.includes(property) && given.some(([name]) => name === property)) {
          command.error(`error: ${option.long} and --clear ${property} contradict each other`);
        }
      }
      if (given.length + cleared.length === 0) {
        const all = nullable.length > 0 ? [...options, { option: clear }] : options;
        const flags = all.map(({ option }) => option.long).join(', ');
        command.error(`error: expected ${flags.replace(/, (?=[^,]*$)/, ' or ')}`);
      }
      const values = Object.fromEntries(given);
      const required = (await rowProperties(dto, entity)).filter(({ isRequired }) => isRequired);
      for (const { name } of required) {
        if (cleared.includes(name)) command.error(`error: ${name} is required`);
      }
      const valid = await toDto(Changes, values).catch((error: unknown) =>
        command.error(`error: ${(error as Error).message}`),
      );
      const nulls = Object.fromEntries(cleared.map((property) => [property, null]));
      command.setOptionValue('changes', { ...valid, ...nulls });
    });
  };
}

function propertyOption(dto: Type<object>, entity: Type, property: string) {
  const words = property
    .replace(/Id$/, '')
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const option = new Option(`--${words} <value>`, `the ${property}`);
  const choices = choicesOf(dto, property);
  const type = columnType(entity, property);
  if (choices) option.choices(choices);
  else option.argParser(type === 'bigint' ? parseInt64Argument : parserOf(type));
  return { property, option };
}
