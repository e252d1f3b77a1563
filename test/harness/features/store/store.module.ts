// The store of the platform's tests: a list with a filter, an operation that clients can retry, and a
// deprecated one.
import { Body, Controller, Get, Injectable, Module, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiProperty } from '@nestjs/swagger';
import {
  AdministrationModule,
  ApiErrors,
  ApiPage,
  Caller,
  Deprecated,
  type FeatureError,
  Idempotency,
  IdempotencyKey,
  IdempotencyModule,
  INT64,
  Int64Pipe,
  IsInt64,
  IsOneOf,
  IsOptionalMember,
  IsText,
  PageCursor,
  PageQuery,
  PipelinedStatements,
  ServiceError,
} from '#platform';
import { SeedItems } from './items.commands.js';

const STATUSES = ['available', 'pending', 'sold'];
const ITEM_NOT_FOUND = {
  code: 'item_not_found',
  status: 404,
  when: 'No item has this identifier.',
} as const satisfies FeatureError;
const itemNotFound = () => new ServiceError(ITEM_NOT_FOUND);

export class NewItem {
  @IsText(1, 255)
  name!: string;

  @IsInt64()
  categoryId!: bigint;

  @IsOneOf(STATUSES)
  status = 'available';
}

class Item extends NewItem {
  @ApiProperty(INT64)
  id!: bigint;
}

class ItemsQuery extends PageQuery {
  @IsOptionalMember()
  @IsOneOf(STATUSES)
  status?: string;
}

const COLUMNS = 'id, name, category_id, status';
const LIST = `SELECT ${COLUMNS} FROM test_items WHERE id > $1 ORDER BY id LIMIT $2`;
const LIST_BY_STATUS = `
  SELECT ${COLUMNS} FROM test_items
   WHERE (status, id) > ($3, $1) AND (status, id) <= ($3, 9223372036854775807) ORDER BY status, id LIMIT $2`;
const FIND = `SELECT ${COLUMNS} FROM test_items WHERE id = $1`;
const INSERT = `INSERT INTO test_items (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`;
const BY_ID = new PageCursor('bigint');

type Columns = [id: bigint, name: string, categoryId: bigint, status: string];
const toItem = ([id, name, categoryId, status]: Columns): Item => ({
  id,
  name,
  categoryId,
  status,
});

@Injectable()
class ItemsRepository {
  constructor(private readonly statements: PipelinedStatements) {}

  list(afterId: bigint, limit: number, status?: string): Promise<Item[]> {
    return status === undefined
      ? this.statements.read(LIST, [afterId, limit], toItem)
      : this.statements.read(LIST_BY_STATUS, [afterId, limit, status], toItem);
  }

  async get(id: bigint): Promise<Item> {
    const [item] = await this.statements.read(FIND, [id], toItem);
    if (!item) throw itemNotFound();
    return item;
  }

  async insert({ name, categoryId, status }: NewItem): Promise<Item> {
    const [item] = await this.statements.insert(INSERT, [name, categoryId, status], toItem);
    return item as Item;
  }
}

@Controller('items')
class ItemsController {
  constructor(
    private readonly items: ItemsRepository,
    private readonly idempotency: Idempotency,
  ) {}

  @Get()
  @ApiPage(Item, 'A page of items.')
  @ApiErrors('invalid_cursor')
  async list(@Query() query: ItemsQuery): Promise<Item[]> {
    const [afterId] = BY_ID.positionOf(query) ?? [0n];
    const items = await this.items.list(afterId, query.limit + 1, query.status);
    return BY_ID.page(items, query, ({ id }) => [id]);
  }

  @Post()
  @ApiCreatedResponse({ type: Item, description: 'The item.' })
  create(
    @Body() item: NewItem,
    @Caller() { ownerId }: Caller,
    @IdempotencyKey() key?: IdempotencyKey,
  ): Promise<Item> {
    if (key === undefined) return this.items.insert(item);
    const request = { ownerId, key, operation: 'createItem', content: item };
    return this.idempotency.once(request, () => this.items.insert(item));
  }

  @Get(':itemId')
  @Deprecated({
    since: new Date('2026-11-20T00:00:00Z'),
    sunset: new Date('2030-12-05T00:00:00Z'),
    successor: '/v1/items',
    replacement: 'List items with GET /v1/items instead.',
  })
  @ApiOkResponse({ type: Item, description: 'The item.' })
  @ApiErrors(ITEM_NOT_FOUND)
  get(@Param('itemId', new Int64Pipe(itemNotFound)) itemId: bigint): Promise<Item> {
    return this.items.get(itemId);
  }
}

@Module({
  imports: [AdministrationModule, IdempotencyModule],
  controllers: [ItemsController],
  providers: [ItemsRepository, SeedItems],
})
export class StoreModule {}
export default [StoreModule];
