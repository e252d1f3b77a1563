import type { Type } from '@nestjs/common';
import { type Command, Option } from 'commander';
import { parseInt64Argument } from '../commands/arguments.js';
import { ChangesOf } from '../http/validation/changes-of.js';
import { choicesOf, toDto } from '../http/validation/dto-validation.pipe.js';
import { columnType, entityProperties, parserOf } from './row-properties.js';

/**
 * Returns the `usage` of a command that changes properties: an option for each property of the DTO that
 * the entity has a column for. `categoryId` has `--category`. The method of the command gets the given
 * values as `changes`, by property. Without any, or with an invalid one, the usage is wrong.
 */
export function changeUsage<Dto extends object>(
  dto: Type<Dto>,
  entity: Type,
): (command: Command) => void {
  const Changes = ChangesOf(dto);
  const options = entityProperties(dto, entity).map((property) =>
    propertyOption(dto, entity, property),
  );
  return (command) => {
    for (const { option } of options) command.addOption(option);
    command.hook('preAction', async () => {
      const given = options.flatMap(({ property, option }) => {
        const value: unknown = command.getOptionValue(option.attributeName());
        return value === undefined ? [] : [[property, value] as const];
      });
      if (given.length === 0) {
        const flags = options.map(({ option }) => option.long).join(', ');
        command.error(`error: expected ${flags.replace(/, (?=[^,]*$)/, ' or ')}`);
      }
      const values = Object.fromEntries(given);
      const valid = await toDto(Changes, values).catch((error: unknown) =>
        command.error(`error: ${(error as Error).message}`),
      );
      command.setOptionValue('changes', valid);
    });
  };
}

function propertyOption(dto: Type<object>, entity: Type, property: string) {
  const words = property
    .replace(/Id$/, '')
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const option = new Option(`--${words} <value>`, `the ${words.replaceAll('-', ' ')}`);
  const choices = choicesOf(dto, property);
  const type = columnType(entity, property);
  if (choices) option.choices(choices);
  else option.argParser(type === 'bigint' ? parseInt64Argument : parserOf(type));
  return { property, option };
}
