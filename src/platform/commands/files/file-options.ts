import type { Type } from '@nestjs/common';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { YES_OPTION } from '../arguments.js';
import { propertiesOf } from '../../http/validation/dto-rules.js';
import { EXPORT_FORMATS, type ExportFormat } from './export-statement.js';
import type { ColumnMap, FileOptions, ValueMap } from './row-file.js';

interface StoreOptions extends FileOptions {
  dryRun?: true;
}

export interface UpdateOptions extends StoreOptions {
  overwrite?: true;
  yes?: true;
  /** The path of a new file, for the rows as they were. */
  former?: string;
  json?: true;
}

export interface ImportOptions extends StoreOptions {
  again?: true;
  skipInvalid?: true;
  /** The path of a new file, for the invalid rows. */
  rejects?: string;
}

export interface ExportOptions {
  format: ExportFormat;
  ids?: true;
  excel?: true;
  json?: true;
}

/** Returns what adds the argument and options of a command that imports a file. */
export function importArguments(dto: Type<object>): (command: Command) => void {
  return (command) => {
    fileUsage(dto)(command);
    command
      .option('--again', 'import even if the same rows were imported before')
      .option('--skip-invalid', 'add the valid rows, and write the others to --rejects')
      .option('--rejects <file>', 'a new file for the invalid rows, with the reasons')
      .hook('preAction', () => {
        const { skipInvalid, rejects, dryRun } = command.opts<ImportOptions>();
        const needsFile = skipInvalid === true && !dryRun;
        if (rejects === undefined ? needsFile : !skipInvalid)
          command.error('error: --skip-invalid and --rejects require each other');
      });
  };
}

/** Returns what adds the argument and options of a command that updates rows from a file. */
export function updateArguments(dto: Type<object>): (command: Command) => void {
  return (command) => {
    fileUsage(dto)(command);
    command
      .option('--overwrite', 'also change rows that have been changed since the export')
      .option('--former <file>', 'write the rows as they were to a new file, for another update')
      .option(...YES_OPTION);
  };
}

function fileUsage(dto: Type<object>): (command: Command) => void {
  const properties = propertiesOf(dto);
  const named = properties.join(', ');
  const parseMap = (text: string, previous: ColumnMap = {}): ColumnMap => {
    const [, property = '', column = ''] = /^(\w+)=(.+)$/s.exec(text) ?? [];
    if (properties.includes(property))
      return { ...previous, [property]: [...(previous[property] ?? []), column] };
    const [name = ''] = properties;
    const example = `${name}=${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    throw new InvalidArgumentError(
      `Expected a property (${named}) and a column, such as ${example}.`,
    );
  };
  const parseValues = (text: string, previous: ValueMap = {}): ValueMap => {
    const [, property = '', list = ''] = /^(\w+):(.+)$/s.exec(text) ?? [];
    const pairs = /^(?:[^=]+=[^,=]*(?:,|$))+$/.test(list)
      ? list.matchAll(/([^=]+)=([^,=]*),?/g)
      : [];
    const values = [...pairs].map(([, source = '', value = '']) => [source.trim(), value] as const);
    if (!properties.includes(property) || values.length === 0) {
      throw new InvalidArgumentError(
        `Expected a property (${named}) and values, such as ${properties[0]}:Old=new,Other=new.`,
      );
    }
    return { ...previous, [property]: new Map([...(previous[property] ?? []), ...values]) };
  };
  return (command) => {
    command
      .argument('<file>', 'the path of the file, or - for standard input')
      .option('--map <property=column>', 'read a property from this column (repeatable)', parseMap)
      .option(
        '--values <property:text=value,…>',
        'map texts of the file to values (repeatable)',
        parseValues,
      )
      .addOption(
        new Option('--delimiter <c>', 'between columns (default: that of the header line)').choices(
          [',', ';', '|', 'tab'],
        ),
      )
      .option('--encoding <name>', 'such as windows-1252 (default: utf-8)', parseEncoding)
      .option('--dry-run', 'check the file, show the result, and store nothing');
  };
}

/** Adds `--format`, `--ids` and `--excel` to a command that exports rows. */
export function exportArguments(command: Command): Command {
  const format = new Option('--format <format>').choices(EXPORT_FORMATS).default('csv');
  return command
    .addOption(format)
    .option('--ids', 'also the ids and revisions, for an update')
    .option('--excel', 'CSV that Excel opens: a byte order mark, and ; between columns')
    .hook('preAction', () => {
      const { excel, format, json } = command.opts<ExportOptions>();
      if (excel && (json || format !== 'csv')) command.error('error: --excel requires CSV');
    });
}

function parseEncoding(text: string): string {
  try {
    return new TextDecoder(text, { fatal: true }).encoding;
  } catch {
    throw new InvalidArgumentError('Expected an encoding, such as windows-1252 or utf-16le.');
  }
}
