import type { Type } from '@nestjs/common';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { propertiesOf } from '../http/validation/dto-validation.pipe.js';
import { EXPORT_FORMATS, type ExportFormat } from './export-statement.js';
import type { ColumnMap, FileOptions } from './row-file.js';

export interface ImportOptions extends FileOptions {
  dryRun?: true;
}

export interface ExportOptions {
  format: ExportFormat;
  json?: true;
}

/** Returns the `usage` of a command that imports a file: its argument and options. */
export function importUsage(dto: Type<object>): (command: Command) => void {
  const properties = propertiesOf(dto);
  const parseMap = (text: string, previous: ColumnMap = {}): ColumnMap => {
    const [, property = '', column = ''] = /^(\w+)=(.+)$/s.exec(text) ?? [];
    if (properties.includes(property))
      return { ...previous, [property]: [...(previous[property] ?? []), column] };
    const [name = ''] = properties;
    const example = `${name}=${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    throw new InvalidArgumentError(`Expected a property and a column, such as ${example}.`);
  };
  return (command) => {
    command
      .argument('<file>', 'the file; -: standard input')
      .option('--map <property=column>', 'read a property from this column', parseMap)
      .addOption(
        new Option('--delimiter <c>', 'between columns (default: of a line sep=;, or ,)').choices([
          ',',
          ';',
          '|',
          'tab',
        ]),
      )
      .option('--dry-run', 'only check the file');
  };
}

/** Adds `--format` to a command that exports rows. */
export function exportUsage(command: Command): Command {
  const format = new Option('--format <format>').choices(EXPORT_FORMATS).default('csv');
  return command.addOption(format);
}
