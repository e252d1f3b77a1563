/* eslint-disable @typescript-eslint/no-empty-function, @typescript-eslint/no-explicit-any -- only the parameters of these handlers matter */
import 'reflect-metadata';
import { join } from 'node:path';
import {
  Body,
  Controller,
  createParamDecorator,
  DefaultValuePipe,
  Get,
  Headers,
  Ip,
  Param,
  ParseArrayPipe,
  ParseIntPipe,
  Post,
  Query,
  RawBody,
  Req,
  Res,
  StandardSchemaValidationPipe,
  UploadedFile,
  UsePipes,
  ValidationPipe,
} from '@nestjs/common';
import { ApiProperty, PartialType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  Allow,
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  ValidateNested,
} from 'class-validator';
import { handlerProblems } from '../../src/platform/http/validation/parameter-check.js';
import { createDatabase } from '../harness/database/database.js';
import { startService } from '../harness/service/service.js';

class Inner {
  @IsString()
  name!: string;
}

class CreateToy {
  @IsString()
  name!: string;

  @ValidateNested()
  @Type(() => Inner)
  maker!: Inner;

  @ArrayMaxSize(10)
  @ValidateNested({ each: true })
  @Type(() => Inner)
  parts!: Inner[];

  @IsArray()
  @IsString({ each: true })
  tags!: string[];

  @IsOptional()
  @IsObject()
  labels?: Record<string, unknown>;

  @Allow()
  anything?: unknown;
}

class UpdateToy extends PartialType(CreateToy) {}

class ToyPath {
  @Type(() => Number)
  @IsInt()
  toyId!: number;
}

class Empty {
  name!: string;
}

/** An empty class as the build compiles it: all its properties are known. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- the build adds this method to a class without members
class CompiledEmpty {
  static _OPENAPI_METADATA_FACTORY() {
    return {};
  }
}

interface Shape {
  name: string;
}

const Tenant = createParamDecorator(() => 'tenant');

/** A Standard Schema that accepts everything. */
const SCHEMA = {
  '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) },
};

@Controller('valid')
class ValidController {
  @Get()
  schema(@Query({ schema: SCHEMA, pipes: [StandardSchemaValidationPipe] }) _query: Shape) {}
  @Post()
  create(@Body() _toy: CreateToy) {}
  @Post()
  update(@Param() _path: ToyPath, @Body() _toy: UpdateToy) {}
  @Post()
  part(@Body('part') _part: Inner) {}
  @Post()
  createMany(@Body(new ParseArrayPipe({ items: Inner })) _toys: Inner[]) {}
  @Post()
  name(@Body('name', { transform: String }) _name: string) {}
  @Post()
  empty(@Body() _toy: CompiledEmpty) {}
  @Get()
  segment(@Param('id') _id: string) {}
  @Get()
  find(@Param('id', ParseIntPipe) _id: number) {}
  @Get()
  page(@Query('page', new DefaultValuePipe(1), ParseIntPipe) _page: number) {}
  @Get()
  @UsePipes({ transform: String })
  all(@Query() _query: unknown) {}
  @Get()
  raw(@Req() _request: unknown, @Res() _response: unknown, @Ip() _ip: string) {}
  @Get()
  own(@Tenant() _tenant: string) {}
  @Get()
  expected(@Body(new ValidationPipe({ expectedType: Inner })) _body: unknown) {}
}

const ADVICE = 'Use a DTO class, imported as a value, with a property for a list. Or add a pipe.';

@Controller('invalid')
class InvalidController {
  @Post()
  array(@Body() _toys: Inner[]) {}
  @Post()
  member(@Body('a') _a: string) {}
  @Post()
  anything(@Body() _body: any) {}
  @Post()
  object(@Body() _body: object) {}
  @Post()
  record(@Body() _body: Record<string, unknown>) {}
  @Post()
  shape(@Body() _body: Shape) {}
  @Post()
  empty(@Body() _body: Empty) {}
  @Post()
  unvalidating(@Body(new ValidationPipe()) _body: Shape) {}
  @Get()
  number(@Param('id') _id: number) {}
  @Get()
  params(@Param() _params: Record<string, string>) {}
  @Get()
  queryText(@Query('a') _a: string) {}
  @Get()
  queryNumber(@Query('a', new DefaultValuePipe(1)) _a: number) {}
  @Get()
  query(@Query() _query: Shape) {}
  @Get()
  @UsePipes({ transform: String })
  header(@Headers('x-tenant') _tenant: string) {}
  @Get()
  headers(@Headers() _headers: Record<string, string>) {}
  @Post()
  file(@UploadedFile() _file: unknown) {}
  @Post()
  rawBody(@RawBody() _body: Buffer) {}
  @Get()
  schema(@Param('id', { schema: SCHEMA }) _id: string) {}
  @Post()
  @UsePipes(StandardSchemaValidationPipe)
  withoutSchema(@Body() _body: Shape) {}
  @Get()
  two(@Param('id') _id: number, @Query('a') _a: string) {}
}

describe('a parameter that is validated', () => {
  test.each(Object.getOwnPropertyNames(ValidController.prototype).slice(1))('%s', (name) => {
    expect(handlerProblems(ValidController, name)).toEqual([]);
  });
});

describe('a parameter that is not validated', () => {
  test.each([
    ['array', [`@Body() is not validated. ${ADVICE}`]],
    ['member', [`@Body('a') is not validated. ${ADVICE}`]],
    ['anything', [`@Body() is not validated. ${ADVICE}`]],
    ['object', [`@Body() is not validated. ${ADVICE}`]],
    ['record', [`@Body() is not validated. ${ADVICE}`]],
    ['shape', [`@Body() is not validated. ${ADVICE}`]],
    ['empty', [`@Body() is not validated: Empty has no validation rule. ${ADVICE}`]],
    ['unvalidating', [`@Body() is not validated. ${ADVICE}`]],
    ['number', [`@Param('id') is not validated. ${ADVICE}`]],
    ['params', [`@Param() is not validated. ${ADVICE}`]],
    ['queryText', [`@Query('a') is not validated. ${ADVICE}`]],
    ['queryNumber', [`@Query('a') is not validated. ${ADVICE}`]],
    ['query', [`@Query() is not validated. ${ADVICE}`]],
    [
      'header',
      [
        "@Headers('x-tenant') is not validated. NestJS runs no pipe on it. Validate it in a decorator: createParamDecorator().",
      ],
    ],
    [
      'file',
      [expect.stringMatching(/^@UploadedFile\(\) is undefined without @UseInterceptors/) as string],
    ],
    [
      'schema',
      [
        'no pipe reads the schema of a parameter. Add `pipes: [StandardSchemaValidationPipe]` to its options.',
      ],
    ],
    ['withoutSchema', [`@Body() is not validated. ${ADVICE}`]],
    [
      'rawBody',
      [
        expect.stringMatching(
          /^@RawBody\(\) is undefined: .*raw bodies\. Read @Req\(\) as a stream/,
        ) as string,
      ],
    ],
    ['headers', [expect.stringMatching(/^@Headers\(\) is not validated\./) as string]],
  ])('%s', (name, problems) => {
    expect(
      handlerProblems(InvalidController, name).map((line) =>
        line.replace(`InvalidController.${name}: `, ''),
      ),
    ).toEqual(problems);
  });

  test('each is reported with its controller and handler', () => {
    expect(handlerProblems(InvalidController, 'two').sort()).toEqual([
      `InvalidController.two: @Param('id') is not validated. ${ADVICE}`,
      `InvalidController.two: @Query('a') is not validated. ${ADVICE}`,
    ]);
  });

  test('a handler that a subclass inherits', () => {
    @Controller('sub')
    class SubController extends InvalidController {}

    expect(handlerProblems(SubController, 'member')).toEqual([
      `SubController.member: @Body('a') is not validated. ${ADVICE}`,
    ]);
  });
});

class Described {
  @ApiProperty()
  colour!: string;

  @IsString()
  name!: string;
}

class Compiled {
  @IsString()
  name!: string;

  // As the compiler plugin of @nestjs/swagger adds it to each DTO class.
  static _OPENAPI_METADATA_FACTORY(): object {
    return { name: {}, size: {} };
  }
}

class SubCompiled extends Compiled {}

class OnlyOptional {
  @IsOptional()
  name?: string;
}

class Untyped {
  @ValidateNested()
  inner!: Inner;
}

class NotNested {
  @IsObject()
  inner!: Inner;
}

class NotNestedItems {
  @IsArray()
  @Type(() => Inner)
  items!: Inner[];
}

class UncheckedItems {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(3)
  items?: Inner[];
}

class NestedEmpty {
  @ValidateNested()
  @Type(() => Empty)
  inner!: Empty;
}

class Deep {
  @ValidateNested()
  @Type(() => OnlyOptional)
  inner!: OnlyOptional;

  @IsOptional()
  @ValidateNested()
  @Type(() => Deep)
  next?: Deep;
}

class NestedMap {
  @ValidateNested()
  @Type(() => Inner)
  inner!: Map<string, Inner>;
}

class NestedSet {
  @ValidateNested({ each: true })
  @Type(() => Inner)
  inner!: Set<Inner>;
}

class Chosen {
  @ValidateNested()
  @Type(() => Inner, {
    discriminator: { property: 'name', subTypes: [{ name: 'inner', value: Inner }] },
  })
  inner!: Inner;
}

class ChosenByParent {
  @ValidateNested()
  @Type((options) => (options?.object ? Inner : Deep))
  inner!: Inner | Deep;
}

@Controller('properties')
class PropertiesController {
  @Post()
  described(@Body() _body: Described) {}
  @Post()
  compiled(@Body() _body: Compiled) {}
  @Post()
  inherited(@Body() _body: SubCompiled) {}
  @Post()
  optional(@Body() _body: OnlyOptional) {}
  @Post()
  untyped(@Body() _body: Untyped) {}
  @Post()
  notNested(@Body() _body: NotNested) {}
  @Post()
  notNestedItems(@Body() _body: NotNestedItems) {}
  @Post()
  uncheckedItems(@Body() _body: UncheckedItems) {}
  @Post()
  nestedEmpty(@Body() _body: NestedEmpty) {}
  @Post()
  deep(@Body() _body: Deep) {}
  @Post()
  nestedMap(@Body() _body: NestedMap) {}
  @Post()
  nestedSet(@Body() _body: NestedSet) {}
  @Post()
  chosen(@Body() _body: Chosen) {}
  @Post()
  chosenByParent(@Body() _body: ChosenByParent) {}
}

test.each([
  ['segments', []],
  ['text', [`Files.text: @Param('path') is a list of path segments. Declare it as string[].`]],
])('a wildcard of the path is a list of segments: %s', (name, problems) => {
  class Files {
    @Get('files/*path')
    segments(@Param('path') _path: string[]) {}

    @Get('text/*path')
    text(@Param('path') _path: string) {}
  }
  expect(handlerProblems(Files, name)).toEqual(problems);
});

test('@Type(() => Boolean) makes every text true, so the start fails', () => {
  class Filter {
    @IsBoolean()
    @Type(() => Boolean)
    isSold!: boolean;
  }
  class Toys {
    @Get()
    list(@Query() _filter: Filter) {}
  }
  expect(handlerProblems(Toys, 'list')).toEqual([
    expect.stringMatching(/^Toys\.list: Filter\.isSold has @Type\(\(\) => Boolean\), which makes/),
  ]);
});

describe('a property of a DTO that is not validated', () => {
  test.each([
    ['described', 'Described.colour has no validation rule and would be removed'],
    ['compiled', 'Compiled.size has no validation rule and would be removed'],
    ['inherited', 'SubCompiled.size has no validation rule and would be removed'],
    ['optional', 'OnlyOptional.name is optional and otherwise accepts any value.'],
    ['untyped', 'Untyped.inner needs @ValidateNested() and @Type('],
    ['notNested', 'NotNested.inner needs @ValidateNested() and @Type('],
    ['notNestedItems', 'NotNestedItems.items needs @ValidateNested() and @Type('],
    ['uncheckedItems', 'UncheckedItems.items is an array whose items have no rule.'],
    ['nestedEmpty', 'NestedEmpty.inner needs @ValidateNested() and @Type('],
    ['deep', 'OnlyOptional.name is optional and otherwise accepts any value.'],
    ['nestedMap', 'NestedMap.inner is a Map, a Set or a choice of nested DTOs.'],
    ['nestedSet', 'NestedSet.inner is a Map, a Set or a choice of nested DTOs.'],
    ['chosen', 'Chosen.inner is a Map, a Set or a choice of nested DTOs.'],
    ['chosenByParent', 'ChosenByParent.inner is a Map, a Set or a choice of nested DTOs.'],
  ])('%s', (name, problem) => {
    expect(handlerProblems(PropertiesController, name)).toEqual([
      expect.stringContaining(`PropertiesController.${name}: ${problem}`),
    ]);
  });
});

test('the service does not start, and lists every problem', async () => {
  const database = await createDatabase();
  try {
    const features = join(__dirname, '../harness/features/unvalidated.mjs');
    const error = await startService({ database, features }).catch(String);

    expect(error).toContain(
      `StartError: ToysController.find: @Param('id') is not validated. ${ADVICE}\n` +
        `ToysController.create: @Body('a') is not validated. ${ADVICE}\n`,
    );
    expect(error).not.toContain('notARoute');
  } finally {
    await database.close();
  }
});
