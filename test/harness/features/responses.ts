// Handlers that return each kind of value, send the response themselves, or fail.
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import {
  All,
  Body,
  ClassSerializerInterceptor,
  ConflictException,
  Controller,
  Delete,
  Get,
  Header,
  Headers,
  HttpCode,
  HttpException,
  Module,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  Patch,
  Post,
  Put,
  Query,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import type { Response } from 'express';
import { Exclude } from 'class-transformer';
import { map, of } from 'rxjs';
import { EntityManager } from 'typeorm';
import { Deprecated, IfMatch, Page, PageCursor, PageQuery, queryRows } from '#platform';

const HTML = '<script>alert("x")</script>';
const SECRET = 'secret of the inside';
const OLD = {
  since: new Date('2026-11-20T00:00:00Z'),
  sunset: new Date('2030-12-05T00:00:00Z'),
  successor: '/v1/items',
  replacement: 'List items with GET /v1/items instead.',
};
const BY_NUMBER = new PageCursor('bigint');
const BY_TIME = new PageCursor('timestamp', 'bigint');
/** Two rows for each millisecond from 11:59:59.999 on, as a column of timestamptz(3) has them. */
const EVENTS = `
  SELECT id, at
    FROM generate_series(1::bigint, 6) AS id,
         LATERAL (SELECT timestamptz '2027-01-01T11:59:59.9985Z' + id / 2 * interval '1 ms') AS event (exact),
         LATERAL (SELECT exact::timestamptz(3)) AS rounded (at)
   WHERE (at, id) > ($1, $2) ORDER BY at, id LIMIT $3`;

async function* brokenRows() {
  yield 'a,b\n';
  await Promise.reject(new Error(SECRET));
}

const VALUES: Readonly<Record<string, () => unknown>> = {
  text: () => HTML,
  empty: () => '',
  number: () => 1.5,
  boolean: () => false,
  bigint: () => 9007199254740993n,
  null: () => null,
  array: () => [1n, 'a'],
  object: () => ({ id: 9223372036854775807n }),
  promise: () => Promise.resolve('later'),
  observable: () => of('first', 'last'),
  nothing: () => undefined,
};

@Controller('values')
class ValuesController {
  @Get('csv')
  @Header('Content-Type', 'text/csv')
  csv() {
    return 'a,b\n';
  }

  @Get('no-csv')
  @Header('Content-Type', 'text/csv')
  noCsv() {
    throw new ConflictException('No sales.');
  }

  @Get('no-content')
  @HttpCode(204)
  noContent() {
    return { ignored: true };
  }

  @Get('file')
  file() {
    return new StreamableFile(Readable.from(['a,b\n']), { type: 'text/csv' });
  }

  @Get('missing-file')
  missingFile() {
    return new StreamableFile(createReadStream('/nowhere/pets.csv'), { disposition: 'attachment' });
  }

  @Get('broken-file')
  brokenFile() {
    return new StreamableFile(Readable.from(brokenRows()));
  }

  @Get('sent')
  sent(@Res() response: Response) {
    response.type('html').send(HTML);
  }

  @Get('written')
  written(@Res() response: Response) {
    response.writeHead(418, { 'Content-Type': 'text/plain' }).end('short');
  }

  @Get('old-list')
  @Deprecated(OLD)
  oldList(@Query() query: PageQuery) {
    return BY_NUMBER.page([1n, 2n], query, (number) => [number]);
  }

  @Get('old-failure')
  @Deprecated(OLD)
  oldFailure(@Res({ passthrough: true }) response: Response) {
    response.links({ next: '/v1/values/old-failure?cursor=MA' });
    throw new ConflictException('No.');
  }

  @All('any-method')
  anyMethod() {
    return {};
  }

  @Get(':name')
  get(@Param('name') name: string) {
    return VALUES[name]?.();
  }

  @Post(':name')
  post(@Param('name') name: string) {
    return this.get(name);
  }
}

const FAILURES: Readonly<Record<string, () => unknown>> = {
  error: () => {
    throw new TypeError(`Cannot read properties of undefined (${SECRET})`);
  },
  rejection: () => Promise.reject(new Error(SECRET)),
  text: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- as careless code does
    throw SECRET;
  },
  unprintable: () => ({
    toJSON() {
      throw new Error(SECRET);
    },
  }),
};

class Row {
  @Exclude()
  secret = SECRET;

  constructor(readonly id: number) {}
}

/** An interceptor of a team, which sees a list as an array. */
const change = (convert: (rows: Row[]) => unknown): NestInterceptor => ({
  intercept: (_context, next) =>
    next.handle().pipe(map((rows: Row[]) => (Array.isArray(rows) ? convert(rows) : 'no array'))),
});
const ENVELOPE = change((rows) => ({ data: { count: rows.length, rows } }));

@Controller('lists')
class ListsController {
  constructor(private readonly manager: EntityManager) {}

  @Get('plain')
  list(@Query() query: PageQuery) {
    return BY_NUMBER.page([new Row(1), new Row(2)], query, ({ id }) => [BigInt(id)]);
  }

  @Get('enveloped')
  @UseInterceptors(ENVELOPE, ClassSerializerInterceptor)
  enveloped(@Query() query: PageQuery) {
    return this.list(query);
  }

  @Get('changed')
  @UseInterceptors(change((rows) => rows.filter(({ id }) => id > 0).map(({ id }) => `row ${id}`)))
  changed(@Query() query: PageQuery) {
    return of(this.list(query));
  }

  @Get('copied')
  async copied(@Query() query: PageQuery) {
    const page = this.list(query);
    return new Page(await Promise.all(page.map(({ id }) => Promise.resolve(id))), page.next);
  }

  @Get('events')
  async events(@Query() query: PageQuery) {
    const position = BY_TIME.positionOf(query) ?? [new Date(0), 0n];
    const values = [...position, query.limit + 1];
    const rows = await queryRows<{ id: bigint; at: Date }>(this.manager, EVENTS, values);
    return BY_TIME.page(rows, query, ({ id, at }) => [at, id]);
  }

  @Get('counted')
  counted(@Query() query: PageQuery) {
    return { count: this.list(query).length };
  }
}

const TAG = 'W/"1,2"';
const TAGGED: Readonly<Record<string, (response: Response) => unknown>> = {
  json: () => ({ id: 1 }),
  page: () => BY_NUMBER.page([1n, 2n], Object.assign(new PageQuery(), { limit: 1 }), (n) => [n]),
  csv: (response) => {
    response.type('text/csv');
    return 'a,b\n';
  },
  cached: (response) => {
    response.setHeader('Cache-Control', 'max-age=1');
    return 1;
  },
  file: () => new StreamableFile(Readable.from(['a,b\n'])),
};

@Controller('tagged')
class TaggedController {
  @All(':kind')
  get(@Param('kind') kind: string, @Res({ passthrough: true }) response: Response) {
    response.setHeader('ETag', TAG);
    return TAGGED[kind]?.(response);
  }
}

/** Changes of a document, if the condition of the request holds. */
@Controller('document')
class DocumentController {
  private readonly document = { version: 1n, text: 'a "quoted" text', note: undefined };

  @Get()
  @Deprecated(OLD)
  get() {
    return this.document;
  }

  @Put()
  replace(@Body() _document: unknown, @IfMatch() ifMatch?: IfMatch) {
    ifMatch?.check(this.document);
    this.document.version++;
    return this.document;
  }

  @Patch()
  change(@Body() changes: unknown, @IfMatch() ifMatch?: IfMatch) {
    return this.replace(changes, ifMatch);
  }

  @Delete()
  delete(@IfMatch() ifMatch?: IfMatch) {
    return this.replace({}, ifMatch);
  }

  @Post()
  add(@Body() document: unknown) {
    return this.replace(document);
  }

  @Put('own')
  compare(@Headers('If-Match') ifMatch: string) {
    return { ifMatch };
  }
}

@Controller('failing')
class FailingController {
  @Get(':kind')
  @Header('ETag', '"of-what-did-not-come"')
  @Header('Cache-Control', 'max-age=60')
  @Header('Content-Encoding', 'gzip')
  @Header('Content-Language', 'en')
  @Header('Content-Range', 'bytes 0-1/2')
  @Header('Accept-Ranges', 'bytes')
  @Header('Last-Modified', 'Mon, 01 Mar 2027 12:00:00 GMT')
  @Header('Expires', 'Mon, 01 Mar 2027 13:00:00 GMT')
  @Header('Location', '/v1/failing/1')
  @Header('Trailer', 'Digest')
  @Header('Digest', 'sha-256=AA==')
  @Header('Idempotent-Replayed', 'true')
  @Header('Link', '</v1/failing?cursor=MA>; rel="next"')
  @Header('Content-Security-Policy', "default-src 'none'")
  fail(@Param('kind') kind: string) {
    return FAILURES[kind]?.();
  }

  /** Throws an exception of NestJS with this status and response. */
  @Get('exceptions/:status')
  failWith(@Param('status', ParseIntPipe) status: number, @Query('response') response: string) {
    throw new HttpException(JSON.parse(response) as string | object, status);
  }
}

@Module({
  controllers: [
    ValuesController,
    ListsController,
    TaggedController,
    DocumentController,
    FailingController,
  ],
})
class ResponsesFeature {}
export default [ResponsesFeature];
