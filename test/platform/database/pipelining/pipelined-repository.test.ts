import {
  AfterLoad,
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  Exclusion,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
  Unique,
  ViewEntity,
  VirtualColumn,
} from 'typeorm';
import { PgClient } from '../../../../src/platform/database/pipelining/pg-client.js';
import type { PipelinedRepository } from '../../../../src/platform/database/pipelining/pipelined-repository.js';
import { HiddenColumns } from '../../../../src/platform/database/hidden-columns.js';
import { columnTypes } from '../../../../src/platform/database/pipelining/statement-batch.js';
import { StoreDataSource } from '../../../../src/platform/database/pipelining/store-data-source.js';
import { closeBeforeDatabases, useDatabase } from '../../../harness/database/database.js';

class Crate {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column('text')
  name!: string;
}

@Entity('test_crates')
@Index(['name'], { unique: true })
class UniqueIndex extends Crate {}

@Entity('test_crates')
class OwnKey {
  @PrimaryColumn('text')
  name!: string;
}

@Entity('test_crates')
@Unique(['name'])
class UniqueConstraint extends Crate {}

@Entity('test_crates')
@Exclusion('USING btree (name WITH =)')
class ExclusionConstraint extends Crate {}

@Entity('test_crates')
@Index(['name'])
class PlainIndex extends Crate {}

class Dated {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @CreateDateColumn({ type: 'timestamptz', precision: 3, name: 'created_at' })
  createdAt!: Date;
}

@Entity('test_toys')
class Toy extends Dated {
  @Column('text')
  name!: string;

  @Column('text', { name: 'the "colour"', nullable: true })
  color!: string | null;

  @Column('integer', { default: 3 })
  age!: number;

  @Column('boolean', { default: true })
  isNew!: boolean;

  @Column('jsonb', { nullable: true })
  tags!: unknown;

  @Column('date', { nullable: true })
  soldOn!: string | null;

  @Column('text', { select: false, nullable: true })
  secret!: string | null;
}

@Entity('test_shops')
@Unique('test_shops_name_key', ['name'])
class Shop {
  @PrimaryColumn('bigint')
  id!: bigint;

  @Column('text')
  name!: string;

  @ManyToOne('Shop')
  @JoinColumn({ name: 'owner_id' })
  owner?: Relation<Shop> | null;
}

const TABLES = `
  CREATE TABLE test_toys (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz(3) NOT NULL DEFAULT now(),
    name text NOT NULL, "the ""colour""" text, age int NOT NULL DEFAULT 3,
    "isNew" boolean NOT NULL DEFAULT true, tags jsonb, "soldOn" date, secret text);
  CREATE TABLE test_shops (
    id bigint PRIMARY KEY, name text CONSTRAINT test_shops_name_key UNIQUE, owner_id bigint REFERENCES test_shops)`;

const BALL = {
  id: 1n,
  createdAt: expect.any(Date),
  name: 'ball',
  color: null,
  age: 3,
  isNew: true,
};
const NEW_BALL = { ...BALL, tags: null, soldOn: null };

const database = useDatabase();
let store: StoreDataSource;

function open(...entities: (new () => object)[]): Promise<StoreDataSource> {
  const extra = { Client: PgClient, responseTimeoutMs: 10_000, types: columnTypes };
  return new StoreDataSource({
    type: 'postgres',
    url: database.url,
    poolSize: 4,
    entities,
    extra,
    installExtensions: false,
    subscribers: [HiddenColumns],
  }).initialize();
}

beforeAll(async () => {
  await database.query(TABLES);
  store = await open(Toy, Shop);
  closeBeforeDatabases(() => store.destroy());
});
beforeEach(() => database.empty('test_toys', 'test_shops'));
afterEach(() => jest.restoreAllMocks());

const LOCK = { mode: 'pessimistic_write' } as const;
const toys = () => store.getRepository(Toy);
const names = async () =>
  (await database.query('SELECT name FROM test_toys')).map(({ name }) => name);

test('rows are those that TypeORM reads, without hidden columns, and have one order of properties', async () => {
  const inserted = await toys().insertRow({ name: 'ball', secret: 'hidden' });
  expect(inserted).toEqual(NEW_BALL);
  expect(inserted).toBeInstanceOf(Toy);
  const tags = ['a', { b: 1 }];
  const values = { name: 'car', color: 'red', age: 0, isNew: false, soldOn: '2026-02-03', tags };
  const createdAt = new Date('2026-01-02T03:04:05.678Z');
  expect(await toys().insertRow({ ...values, createdAt })).toEqual({
    id: 2n,
    createdAt,
    ...values,
  });
  const clauses = 'WHERE age >= $1 AND "isNew" = ANY ($2) ORDER BY id';
  const rows = await toys().selectRows(clauses, [0, '{true,false}']);
  expect(rows).toEqual(await toys().find({ order: { id: 'ASC' } }));
  const order = 'id createdAt name color age isNew tags soldOn';
  expect(rows.map((row) => Object.keys(row).join(' '))).toEqual([order, order]);
  expect(await database.query('SELECT secret FROM test_toys ORDER BY id')).toEqual([
    { secret: 'hidden' },
    { secret: null },
  ]);
});

test.each([
  ['found', () => toys().findOneByOrFail({ name: 'ball' })],
  ['locked', () => toys().findOneOrFail({ where: { name: 'ball' }, lock: LOCK })],
  ['read', async () => (await toys().selectRows("WHERE name = 'ball'", []))[0]],
  ['created', () => Promise.resolve(toys().create({ name: 'ball' }))],
])('a row that was %s and saved has no hidden column', async (_how, row) => {
  await toys().insertRow({ name: 'ball', secret: 'hidden' });
  const saved = await store.transaction(async (manager) => {
    const read = await row();
    return manager.save(Toy, Object.assign(read!, { age: 4 }));
  });
  expect(Object.keys(saved)).not.toContain('secret');
  expect(saved).toMatchObject({ name: 'ball', age: 4, isNew: true });
});

test('missing and undefined properties get their defaults, with one SQL text unless the database has the default', async () => {
  const texts = jest.spyOn(store.statements, 'insert');
  const insert = (row: Parameters<PipelinedRepository<Toy>['insertRow']>[0]) =>
    toys().insertRow({ name: 'ball', ...row });
  expect(await insert({})).toEqual(NEW_BALL);
  expect(await insert({ color: 'red' })).toMatchObject({ id: 2n, color: 'red', age: 3 });
  expect(await insert({ tags: {}, age: undefined })).toMatchObject({ tags: {}, age: 3 });
  expect(new Set(texts.mock.calls.map(([sql]) => sql)).size).toBe(1);
  expect(await insert({ age: 4 })).toMatchObject({ age: 4, isNew: true });
  expect(new Set(texts.mock.calls.map(([sql]) => sql)).size).toBe(2);
});

test.each<[row: object, problem: string]>([
  [
    { name: 'ball', shop: {}, size: 1 },
    'Toy has no column that insertRow() can set for: shop, size',
  ],
  [{ name: { first: 'ball' } }, 'Toy.name is an object, which insertRow() cannot store'],
])('insertRow(%j) › %s', async (row, problem) => {
  await expect(toys().insertRow(row)).rejects.toThrow(problem);
  expect(await names()).toEqual([]);
});

test('rows with a foreign key or a unique constraint are inserted in transactions of their own', async () => {
  const shops = store.getRepository(Shop);
  const batches = jest.spyOn(store.statements, 'insert');
  const ids = [1n, 2n, 3n];
  const rows = await Promise.all(ids.map((id) => shops.insertRow({ id, name: `shop ${id}` })));
  expect(rows).toEqual(await shops.find({ order: { id: 'ASC' } }));
  const transactions = await database.query('SELECT DISTINCT xmin::text FROM test_shops');
  expect([transactions.length, batches.mock.calls]).toEqual([3, []]);
  const taken = shops.insertRow({ id: 4n, name: 'shop 1' });
  await expect(taken).rejects.toMatchObject({ constraint: 'test_shops_name_key' });
});

test.each([
  [UniqueIndex, 3],
  [OwnKey, 3],
  [UniqueConstraint, 3],
  [ExclusionConstraint, 3],
  [PlainIndex, 1],
])(
  '%p › rows that arrive together share a transaction only if none can wait: %i',
  async (entity, transactions) => {
    const crates = await open(entity);
    closeBeforeDatabases(() => crates.destroy());
    await database.query(
      'CREATE TABLE test_crates (id bigint GENERATED ALWAYS AS IDENTITY, name text)',
    );
    const rows = crates.getRepository<{ name: string }>(entity);
    await Promise.all(['a', 'b', 'c'].map((name) => rows.insertRow({ name })));
    const found = await database.query('SELECT DISTINCT xmin::text FROM test_crates');
    await database.query('DROP TABLE test_crates');
    expect(found).toHaveLength(transactions);
  },
);

describe('in a transaction', () => {
  it.each([
    ['that is done', undefined, ['a', 'b', 'c']],
    ['that fails', new Error('no'), []],
  ])('%s, all repositories take part', async (_how, failure, kept) => {
    const injected = toys();
    const own = injected.extend({ first: () => injected.selectRows('ORDER BY id LIMIT 1') });
    const transaction = store.transaction(async (manager) => {
      await injected.insertRow({ name: 'a' });
      await manager.withRepository(own).insertRow({ name: 'b' });
      await store.getRepository(Toy).insertRow({ name: 'c' });
      for (const repository of [
        injected,
        own,
        manager.getRepository(Toy),
        store.getRepository(Toy),
      ])
        expect(await (repository as typeof own).selectRows('ORDER BY id')).toHaveLength(3);
      expect(await own.first()).toMatchObject([{ name: 'a' }]);
      expect(await names()).toEqual([]);
      if (failure) throw failure;
    });
    expect(await transaction.catch((error: unknown) => error)).toBe(failure);
    expect(await names()).toEqual(kept);
    expect(await injected.selectRows('ORDER BY id')).toHaveLength(kept.length);
  });

  it('of a QueryRunner, its repository takes part and an injected one does not', async () => {
    const runner = store.createQueryRunner();
    await runner.startTransaction();
    const own = runner.manager.getRepository(Toy) as PipelinedRepository<Toy>;
    await own.insertRow({ name: 'lost' });
    expect(await own.selectRows('')).toHaveLength(1);
    expect(await toys().selectRows('')).toEqual([]);
    await runner.rollbackTransaction();
    await runner.release();
    expect(await names()).toEqual([]);
  });
});

class Size {
  @Column('integer')
  width!: number;
}
@Entity()
class WithTransformer extends Dated {
  @Column('text', { transformer: { to: String, from: Number } })
  price!: number;
}
@Entity()
class WithEmbedded extends Dated {
  @Column(() => Size)
  size!: Size;
}
@Entity()
@TableInheritance({ column: { name: 'kind', type: 'text' } })
class Parent extends Dated {}
@ViewEntity({ expression: 'SELECT 1 AS number' })
class View {
  @PrimaryColumn('integer')
  number!: number;
}
@Entity()
class WithDeletion extends Dated {
  @DeleteDateColumn()
  deletedAt!: Date | null;
}
@Entity()
class WithArray extends Dated {
  @Column('text', { array: true })
  names!: string[];
}
@Entity()
class WithList extends Dated {
  @Column('simple-array')
  names!: string[];
}
@Entity()
class WithTime extends Dated {
  @Column('timestamp')
  at!: Date;
}
@Entity()
class WithListener extends Dated {
  @AfterLoad()
  count(): void {
    throw new Error('not called');
  }
}
@Entity()
class WithVirtual extends Dated {
  @VirtualColumn({ query: (alias) => `SELECT count(*) FROM ${alias}` })
  count!: number;
}
@Entity()
class WithEager extends Dated {
  @ManyToOne(() => WithVirtual, { eager: true })
  other!: Relation<WithVirtual>;
}

test.each<[type: new () => object, problem: string]>([
  [WithTransformer, '.price has a transformer'],
  [WithEmbedded, '.size.width is part of an embedded entity'],
  [Parent, ' is a view, a tree or inherited'],
  [View, ' is a view, a tree or inherited'],
  [WithDeletion, '.deletedAt marks deleted rows'],
  [WithArray, '.names is an array'],
  [WithList, '.names has the type simple-array'],
  [WithTime, '.at has the type timestamp'],
  [WithListener, '.count is a listener'],
  [WithVirtual, '.count is a virtual column'],
  [WithEager, '.other is an eager relation'],
])('%p is rejected at the first use, because it%s', async (type, problem) => {
  const other = await open(type, ...(type === WithEager ? [WithVirtual] : []));
  const repository = other.getRepository(type);
  const { name } = type;
  const message = `${name}${problem}, so selectRows() and insertRow() do not serve ${name}. Use find() and save().`;
  for (const use of [() => repository.selectRows(''), () => repository.insertRow({})])
    await expect(use()).rejects.toThrow(message);
  await other.destroy();
});
