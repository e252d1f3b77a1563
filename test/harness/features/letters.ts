// A feature whose rows the database can reject, with a table and a column that have names of the platform's SQL.
import { Injectable, Module } from '@nestjs/common';
import { OmitType } from '@nestjs/swagger';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Command,
  type CommandGroups,
  type ExportOptions,
  exportArguments,
  FilesModule,
  type ImportOptions,
  importArguments,
  RowFiles,
  type UpdateOptions,
  updateArguments,
} from '#platform';
import { Letter } from './letter.entity.js';

class NewLetter extends OmitType(Letter, ['id']) {}

const LETTERS = { name: 'letters', entity: Letter, dto: NewLetter };

@Injectable()
class LettersCommands {
  constructor(private readonly files: RowFiles) {}

  @Command('import', 'add the letters of a file', importArguments(NewLetter), { effect: 'added' })
  import(path: string, options: ImportOptions) {
    return this.files.import(LETTERS, path, options);
  }

  @Command('update', 'change the letters of a file', updateArguments(NewLetter), {
    effect: 'changed',
  })
  update(path: string, options: UpdateOptions) {
    return this.files.update(LETTERS, path, options);
  }

  @Command('export', 'print all letters', exportArguments)
  export(options: ExportOptions) {
    return this.files.export(LETTERS, options);
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Letter]), FilesModule],
  providers: [LettersCommands],
})
class LettersModule {}
export default [LettersModule];

export const COMMANDS: CommandGroups = {
  letters: {
    description: 'import and export letters',
    load: () => Promise.resolve(LettersCommands),
  },
};
