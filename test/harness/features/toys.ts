// A feature of a team whose rows come from files and go to files.
import { Injectable, Module } from '@nestjs/common';
import { OmitType } from '@nestjs/swagger';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  changeArguments,
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
import { Toy } from './toy.entity.js';

class NewToy extends OmitType(Toy, ['id']) {}

const TOYS = { name: 'toys', entity: Toy, dto: NewToy };

@Injectable()
class ToysCommands {
  constructor(private readonly files: RowFiles) {}

  @Command('import', 'add the toys of a file', importArguments(NewToy), { effect: 'added' })
  import(path: string, options: ImportOptions) {
    return this.files.import(TOYS, path, options);
  }

  @Command('update', 'change the toys of a file', updateArguments(NewToy), { effect: 'changed' })
  update(path: string, options: UpdateOptions) {
    return this.files.update(TOYS, path, options);
  }

  @Command('export', 'print all toys', exportArguments)
  export(options: ExportOptions) {
    return this.files.export(TOYS, options);
  }

  @Command('change', 'show what a change would be', changeArguments(NewToy, Toy))
  change({ changes }: { changes: Partial<NewToy> }) {
    return Promise.resolve(changes);
  }
}

@Module({ imports: [TypeOrmModule.forFeature([Toy]), FilesModule], providers: [ToysCommands] })
class ToysModule {}
export default [ToysModule];

export const COMMANDS: CommandGroups = {
  toys: { description: 'import and export toys', load: () => Promise.resolve(ToysCommands) },
};
