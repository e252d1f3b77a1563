import { join } from 'node:path';
import { Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import ownRules from '../eslint.rules.js';

const ROOT = join(__dirname, '..');
const TIMESTAMP = /Declare the type 'timestamptz'\.$/;

/** The rules that need no type information. */
const RULES = ownRules.filter(({ plugins = {} }) => !('database' in plugins));
const TYPESCRIPT = { files: ['**/*.ts'], languageOptions: { parser: tseslint.parser } };

/** Returns what these rules say about the code of an entity. */
function problemsIn(code: string): Linter.LintMessage[] {
  const linter = new Linter({ cwd: ROOT });
  const filename = join(ROOT, 'src/platform/access/owner.entity.ts');
  return linter.verify(code, [TYPESCRIPT, ...RULES], { filename });
}

test('ESLint rejects a throttler that the platform does not have, and options that it ignores', () => {
  const code = `
    import { SkipThrottle, Throttle } from '@nestjs/throttler';
    const LIMIT = { limit: 1, ttl: 1_000 };
    export class Toys {
      @Throttle({ default: { limit: 1, ttl: 1_000 } }) @SkipThrottle({ default: true }) fits() {}
      @Throttle({ short: LIMIT }) name() {}
      @Throttle({ default: LIMIT, long: LIMIT }) oneOfTwo() {}
      @SkipThrottle({ short: true }) skip() {}
      @Throttle({ default: { ...LIMIT, blockDuration: 1_000 } }) block() {}
      @Throttle({ default: { ...LIMIT, getTracker: () => 'all' } }) tracker() {}
      @Throttle({ default: { ...LIMIT, generateKey: () => 'all' } }) key() {}
    }`;
  expect(problemsIn(code).map(({ line }) => line)).toEqual([6, 7, 8, 9, 10, 11]);
});

test('ESLint rejects a Date without a time zone in an entity, and a second connection of TypeORM', () => {
  const code = `
    import { Module } from '@nestjs/common';
    import { TypeOrmModule } from '@nestjs/typeorm';
    import { Column, CreateDateColumn, Entity, UpdateDateColumn } from 'typeorm';
    @Entity('toys')
    export class Toy {
      @Column({ nullable: true }) first!: Date | null;
      @CreateDateColumn() second!: Date;
      @Column('timestamp') third!: Date;
      @UpdateDateColumn({ type: 'timestamptz' }) fourth!: Date;
      @Column('timestamptz', { nullable: true }) fifth!: Date | null;
      @Column('timestamp with time zone') sixth!: Date;
      @Column('jsonb') seventh!: { at: Date };
    }
    @Module({ imports: [TypeOrmModule.forFeature([Toy])] })
    export class ToysModule {}
    @Module({ imports: [TypeOrmModule.forRoot({})] })
    export class OtherModule {}
    @Module({ imports: [TypeOrmModule.forRootAsync({})] })
    export class AnotherModule {}`;
  const forFeature = /Register entities with TypeOrmModule\.forFeature\(\)\.?$/;
  expect(problemsIn(code)).toEqual([
    ...[7, 8, 9].map((line) =>
      expect.objectContaining({ line, message: expect.stringMatching(TIMESTAMP) }),
    ),
    ...[17, 19].map((line) =>
      expect.objectContaining({ line, message: expect.stringMatching(forFeature) }),
    ),
  ]);
});

test('ESLint rejects a body and a query whose type nothing can validate', () => {
  const code = `
    import { Body, Controller, Param, Post, Query } from '@nestjs/common';
    import { type Changes, NewToy } from './dto/new-toy.dto.js';
    import type { Filter } from './dto/filter.dto.js';
    import type { Toys } from './toys.service.js';
    interface Note { text: string }
    type Notes = Note | NewToy;
    class Own { text!: string }
    @Controller('toys')
    export class ToysController {
      @Post('a') fits(@Body() toy: NewToy, @Query() query: Own): Own { return query; }
      @Post('b') property(@Body('name') name: Note, @Query('page', new PagePipe()) page: Filter) {}
      @Post('c') imported(@Body() changes: Changes) {}
      @Post('d') query(@Query() filter: Filter) {}
      @Post('e') local(@Body() note: Note) {}
      @Post('f') alias(@Param('id') id: Note, @Body() notes: Notes) {}
      @Post('g') piped(@Body(new NotePipe()) note: Note, toys: Toys) {}
      @Post('h') literal(@Body() note: { text: string }) {}
    }`;
  expect(problemsIn(code).map(({ line }) => line)).toEqual([13, 14, 15, 16, 18]);
});

test('ESLint rejects a property that can be null without its type in the description', () => {
  const code = `
    import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
    import { Column } from 'typeorm';
    import { INT64, IsText } from '#platform';
    export class Toy {
      @ApiProperty({ description: 'The colour.' }) @Column('text') color!: string | null;
      @ApiPropertyOptional({ nullable: true }) age!: number | null;
      @ApiProperty({ nullable: true }) @Column({ type: 'text' }) name!: string | null;
      @ApiProperty({ type: String, nullable: true }) fits!: string | null;
      @ApiProperty({ enum: ['red'], nullable: true }) one!: 'red' | null;
      @ApiProperty({ ...INT64, nullable: true }) id!: bigint | null;
      @ApiProperty({ nullable: true }) @IsText(1, 9) text!: string | null;
      @ApiProperty({ description: 'A name.' }) required!: string;
    }`;
  const message = expect.stringMatching(/^The description would have the type `object`/);
  expect(problemsIn(code)).toEqual(
    [6, 7, 8].map((line) => expect.objectContaining({ line, message })),
  );
});

test('ESLint rejects code of the service that reads files by its own place in the project', () => {
  const code = `
    import { join } from 'node:path';
    export const inFolder = join(import.meta.dirname, '../migrations');
    export const own = new URL('./page.css', import.meta.url);
    export const version = join(import.meta.dirname, '../../package.json');
    export const script = new URL('../../scripts/build.mjs', import.meta.url);
    export const file = join(process.cwd(), '.env');`;
  const message = expect.stringMatching(/files of the project come in as inputs/);
  expect(problemsIn(code)).toEqual(
    [5, 6, 7].map((line) => expect.objectContaining({ line, message })),
  );
});
