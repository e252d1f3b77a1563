import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PACKAGES } from './harness/run/packages.js';

const ROOT = join(__dirname, '..');
const TIMESTAMP = /Declare the type 'timestamptz'\.$/;

interface Problem {
  ruleId: string | null;
  line: number;
  message: string;
}

/** Returns what the rules of the project that restrict code say about the code of an entity. */
function problemsIn(code: string): Problem[] {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(PACKAGES, 'eslint/bin/eslint.js'),
      '--format',
      'json',
      '--stdin',
      // The rules with types need the name of a file of the project.
      '--stdin-filename',
      join(ROOT, 'src/platform/access/owner.entity.ts'),
    ],
    {
      cwd: ROOT,
      input: code,
      encoding: 'utf8',
      // Otherwise, typescript-eslint reads the file instead of standard input.
      env: { ...process.env, TSESTREE_SINGLE_RUN: 'false' },
    },
  );
  if (!stdout.startsWith('[')) throw new Error(stderr);
  const [{ messages = [] } = {}] = JSON.parse(stdout) as { messages?: Problem[] }[];
  return messages.filter(({ ruleId }) => ruleId?.startsWith('no-restricted-'));
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
}, 120_000);

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
}, 120_000);
