// The store of the platform's tests: a list with a filter, an operation that clients can retry, and a
// deprecated one.
import { Body, Controller, Get, Injectable, Module, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiProperty } from '@nestjs/swagger';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import {
  AdministrationModule,
  ApiErrors,
  ApiPage,
  Caller,
  Deprecated,
  type FeatureError,
  FilesModule,
  Idempotency,
  IdempotencyKey,
  IdempotencyModule,
  Int64Pipe,
  IsOneOf,
  IsOptionalMember,
  PageCursor,
  PageQuery,
  PipelinedRepository,
  ServiceError,
  valuesOf,
} from '#platform';
import { Item, NewItem, STATUSES } from './item.entity.js';
import { ItemsCommands } from './items.commands.js';

const ITEM_NOT_FOUND = {
  code: 'item_not_found',
  status: 404,
  when: 'No item has this identifier.',
} as const satisfies FeatureError;
const itemNotFound = () => new ServiceError(ITEM_NOT_FOUND);

class ItemsQuery extends PageQuery {
  @ApiProperty({ enumName: 'ItemStatus' })
  @IsOptionalMember()
  @IsOneOf(STATUSES)
  status?: Item['status'];
}

const OF_STATUS = `
  WHERE (status, id) > ($3, $1) AND (status, id) <= ($3, 9223372036854775807)
  ORDER BY status, id LIMIT $2`;
const BY_ID = new PageCursor('bigint');

@Injectable()
class ItemsRepository {
  constructor(@InjectRepository(Item) private readonly items: PipelinedRepository<Item>) {}

  list(afterId: bigint, limit: number, status?: Item['status']): Promise<Item[]> {
    return status === undefined
      ? this.items.selectRows('WHERE id > $1 ORDER BY id LIMIT $2', [afterId, limit])
      : this.items.selectRows(OF_STATUS, [afterId, limit, status]);
  }

  async get(id: bigint): Promise<Item> {
    const [item] = await this.items.selectRows('WHERE id = $1', [id]);
    if (!item) throw itemNotFound();
    return item;
  }

  insert(item: NewItem, keyId: bigint): Promise<Item> {
    return this.items.insertRow(Object.assign({}, item, { createdByKeyId: keyId }));
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
    @Caller() { keyId, ownerId }: Caller,
    @IdempotencyKey() key?: IdempotencyKey,
  ): Promise<Item> {
    if (key === undefined) return this.items.insert(item, keyId);
    const request = { ownerId, key, operation: 'createItem', content: valuesOf(item) };
    return this.idempotency.once(request, () => this.items.insert(item, keyId));
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
  imports: [TypeOrmModule.forFeature([Item]), AdministrationModule, FilesModule, IdempotencyModule],
  controllers: [ItemsController],
  providers: [ItemsRepository, ItemsCommands],
})
export class StoreModule {}
export default [StoreModule];
