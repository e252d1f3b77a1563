import 'reflect-metadata';
import { type ArgumentMetadata, ParseIntPipe, type Type, ValidationPipe } from '@nestjs/common';
import { Expose, Transform, Type as NestedType } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import fc from 'fast-check';
import { INT64_MAX } from '../../src/platform/http/validation/int64.js';
import { IsInt64 } from '../../src/platform/http/validation/property-rules.js';
import { DtoValidationPipe } from '../../src/platform/http/validation/dto-validation.pipe.js';
import { ListPetsQuery } from '../../src/pets/dto/list-pets-query.dto.js';
import { NewPet } from '../../src/pets/dto/new-pet.dto.js';
import { holds } from '../harness/fuzz/property.js';

const pipe = new DtoValidationPipe();

async function outcome(
  value: unknown,
  metatype: Type,
  type: ArgumentMetadata['type'] = 'body',
): Promise<{ dto?: object; message?: string }> {
  try {
    // As JSON objects are compared: without the class, which differs on purpose.
    return { dto: { ...((await pipe.transform(value, { type, metatype })) as object) } };
  } catch (error) {
    return { message: (error as Error).message };
  }
}

class Name {
  @IsString()
  first!: string;

  @IsInt64()
  number!: bigint;
}

class Order {
  @ValidateNested()
  @NestedType(() => Name)
  buyer!: Name;

  @ArrayNotEmpty()
  @ValidateNested({ each: true })
  @NestedType(() => Name)
  items!: Name[];
}

const TOO_MANY = 'The request has more than 1,000 values in its nested objects.';
const VALID_NAME = { first: 'Ada', number: 7 };

describe('a nested DTO', () => {
  it('is converted and validated as deep as it goes', async () => {
    const order = { buyer: VALID_NAME, items: [VALID_NAME, { first: 'Bo', number: INT64_MAX }] };
    const { dto } = await outcome(order, Order);

    expect(dto).toEqual({
      buyer: { first: 'Ada', number: 7n },
      items: [
        { first: 'Ada', number: 7n },
        { first: 'Bo', number: INT64_MAX },
      ],
    });
    expect((dto as Order).items[1]).toBeInstanceOf(Name);
  });

  it('is rejected with the path of every invalid property', async () => {
    const order = { items: [VALID_NAME, { number: 1.5 }], buyer: { first: 7, number: 1 } };

    expect(await outcome(order, Order)).toEqual({
      message:
        'buyer.first must be a string; items.1.first is required and must be a string; ' +
        'items.1.number must be an integer from -9223372036854775808 to 9223372036854775807.',
    });
  });

  it('is required', async () => {
    const { message } = await outcome({}, Order);

    expect(message).toContain('items is required and');
  });
});

test('400 with the first 50 messages when an array has many invalid items', async () => {
  const items = Array.from({ length: 400 }, () => ({ first: 1, number: 1 }));
  const { message = '' } = await outcome({ buyer: VALID_NAME, items }, Order);

  expect(message).toMatch(/; items\.49\.first must be a string; and 350 more\.$/);
  expect(message.length).toBeLessThan(5_000);
});

test("a parameter that is not a DTO reaches the author's pipe as the client sent it", async () => {
  const sent = { type: 'param', metatype: Number, data: 'id' } as const;

  expect(await pipe.transform('0x10', sent)).toBe('0x10');
  await expect(
    new ParseIntPipe().transform((await pipe.transform('0x10', sent)) as string, sent),
  ).rejects.toThrow();
});

test('a property of the body that is a DTO is named when it is not an object', async () => {
  const metadata = { type: 'body', metatype: Name, data: 'buyer' } as const;

  await expect(pipe.transform('Ada', metadata)).rejects.toThrow('buyer must be a JSON object.');
});

describe('a DTO of path parameters', () => {
  it('is validated', async () => {
    expect(await outcome({ number: 'x', first: 'a' }, Name, 'param')).toMatchObject({
      message: expect.stringMatching(/^number must be an integer/) as string,
    });
  });
});

test('properties without a rule are removed', async () => {
  expect(await outcome({ ...VALID_NAME, admin: true }, Name)).toEqual({
    dto: { first: 'Ada', number: 7n },
  });
});

test.each(['text', 7, true, null, [], [VALID_NAME]])(
  '%j › 400 where an object is expected',
  async (value) => {
    expect(await outcome(value, Name)).toEqual({
      message: 'The request body must be a JSON object.',
    });
  },
);

class Workshop {
  @ValidateNested()
  @NestedType(() => Name)
  owner!: Name;

  @ArrayMaxSize(2)
  @ValidateNested({ each: true })
  @NestedType(() => Name)
  members!: Name[];

  @IsOptional()
  @ValidateNested()
  @NestedType(() => Name)
  guest?: Name;
}

class SubWorkshop extends Workshop {
  @IsString()
  town!: string;
}

test('400 for an inherited array of DTOs that is too long', async () => {
  const workshop = { owner: VALID_NAME, members: Array(3).fill(VALID_NAME), town: 'Ulm' };

  expect(await outcome(workshop, SubWorkshop)).toEqual({
    message: 'members must contain no more than 2 elements.',
  });
});

describe('a nested DTO without @IsObject()', () => {
  const WORKSHOP = { owner: VALID_NAME, members: [VALID_NAME] };

  test('is accepted as an object, and may be missing if it is optional', async () => {
    expect(await outcome(WORKSHOP, Workshop)).toHaveProperty('dto');
    expect(await outcome({ ...WORKSHOP, members: [] }, Workshop)).toHaveProperty('dto');
    expect(await outcome({ ...WORKSHOP, guest: VALID_NAME }, Workshop)).toHaveProperty('dto');
  });

  test.each([
    ['missing', { owner: undefined }, 'owner is required and must be an object.'],
    ['an array', { owner: [] }, 'owner must be an object.'],
    ['an array of a valid object', { owner: [VALID_NAME] }, 'owner must be an object.'],
    ['null', { owner: null }, 'owner must be an object.'],
    ['an array of arrays', { members: [[VALID_NAME]] }, 'each item of members must be an object.'],
    ['an object in place of a list', { members: VALID_NAME }, 'members must contain no more than'],
    ['an optional array', { guest: [VALID_NAME] }, 'guest must be an object.'],
  ])('%s › 400', async (_title, change, message) => {
    expect(await outcome({ ...WORKSHOP, ...change }, Workshop)).toEqual({
      message: expect.stringContaining(message),
    });
  });
});

/** A rule that throws for values other than text. */
function IsTrimmed(): PropertyDecorator {
  const validate = (value: string): boolean => value.trim() === value;
  return ValidateBy({ name: 'isTrimmed', validator: { validate } });
}

class Coded {
  @IsString()
  @MaxLength(3)
  @Matches(/^[a-z]+$/)
  @IsTrimmed()
  descending?: string;

  @IsTrimmed()
  @Matches(/^[a-z]+$/)
  @MaxLength(3)
  @IsString()
  ascending?: string;

  @IsArray()
  @ArrayMaxSize(2)
  @IsString({ each: true })
  list?: string[];
}

class SubCoded extends Coded {
  @IsInt()
  count = 1;
}

describe.each([Coded, SubCoded])('400 with the most basic rule that a value breaks: %p', (Dto) => {
  const VALID = { descending: 'ab', ascending: 'ab', list: [] };

  it.each([
    [undefined, 'is required and must be a string'],
    [1234, 'must be a string'],
    ['ABCD', 'must be shorter than or equal to 3 characters'],
    ['ABC', 'must match /^[a-z]+$/ regular expression'],
  ])('%p in any order of the decorators', async (value, rule) => {
    for (const property of ['descending', 'ascending']) {
      expect(await outcome({ ...VALID, [property]: value }, Dto)).toEqual({
        message: `${property} ${rule}.`,
      });
    }
  });

  it.each([
    [undefined, 'is required and must be an array'],
    ['a', 'must be an array'],
    [[1, 2, 3], 'must contain no more than 2 elements'],
  ])('%j in a list', async (value, rule) => {
    expect(await outcome({ ...VALID, list: value }, Dto)).toEqual({ message: `list ${rule}.` });
  });
});

class Renamed {
  @Expose({ name: 'first_name' })
  @IsString()
  firstName!: string;

  @Transform(({ obj }) => (obj as { numbers?: unknown[] }).numbers?.length)
  @IsOptional()
  @IsInt()
  count?: number;

  @Transform(({ value }) => (typeof value === 'string' ? value.trim() : value))
  @IsString()
  title!: string;
}

class Linked {
  @IsInt()
  value!: number;

  @IsOptional()
  @ValidateNested()
  @NestedType(() => Linked)
  next?: Linked;
}

const name = fc.record(
  {
    first: fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.integer()),
    number: fc.oneof({ weight: 9, arbitrary: fc.integer() }, fc.double()),
    other: fc.jsonValue(),
  },
  { requiredKeys: ['first', 'number'] },
);
const { linked } = fc.letrec((tie) => ({
  linked: fc.record(
    {
      value: fc.oneof({ weight: 9, arbitrary: fc.integer() }, fc.string()),
      next: fc.option(tie('linked'), { nil: undefined }),
      other: fc.jsonValue(),
    },
    { requiredKeys: ['value'] },
  ),
}));

const DTOS: [Type, Record<string, fc.Arbitrary<unknown>>][] = [
  [
    NewPet,
    {
      name: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('Frank', ' ', 'a\0', '\ud800')),
      categoryId: fc.oneof(fc.bigInt(), fc.integer(), fc.double(), fc.constant(INT64_MAX)),
      status: fc.constantFrom('available', 'pending', 'sold', 'lost', '', null),
    },
  ],
  [
    ListPetsQuery,
    {
      limit: fc.oneof(fc.nat(200).map(String), fc.constantFrom('', '1e1', ' 5', '05', '-1', '1.0')),
      status: fc.constantFrom('available', 'sold', 'lost', ''),
      cursor: fc.jsonValue(),
    },
  ],
  [
    Order,
    { buyer: name, items: fc.oneof(fc.array(name, { maxLength: 3 }), fc.array(fc.array(name))) },
  ],
  [
    Renamed,
    {
      first_name: fc.string(),
      count: fc.integer(),
      numbers: fc.array(fc.integer()),
      title: fc.string(),
    },
  ],
  [Linked, { value: fc.integer(), next: linked }],
];

/** A copy of a JSON value, because NestJS' pipe changes it. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)]));
}

describe.each(DTOS)('%p', (Dto, members) => {
  const nestPipe = new ValidationPipe({ transform: true, whitelist: true });

  // Its first use of a class adds the rule that nested DTOs are objects, which both pipes then have.
  beforeAll(() => outcome({}, Dto));

  /** What NestJS' own pipe returns, undefined if it rejects the value. */
  async function nestResult(value: unknown): Promise<unknown> {
    return nestPipe
      .transform(copyOf(value), { type: 'body', metatype: Dto })
      .catch(() => undefined);
  }

  it("gets the same result as from NestJS' own pipe, without the members that have no rule", async () => {
    const anything = Object.fromEntries(
      Object.entries(members).map(([member, value]) => [member, fc.oneof(value, fc.jsonValue())]),
    );
    const sent = fc.oneof(
      { weight: 6, arbitrary: fc.record({ ...members }, { requiredKeys: [] }) },
      {
        weight: 4,
        arbitrary: fc.record({ ...anything, other: fc.jsonValue() }, { requiredKeys: [] }),
      },
    );
    let accepted = 0;
    await holds(sent, async (value) => {
      const expected = await nestResult(value);
      const { dto } = await outcome(copyOf(value), Dto);
      expect(dto).toEqual(expected && { ...expected });
      if (dto) accepted++;
    });
    expect(accepted).toBeGreaterThan(0);
  });
});

/** A JSON object with 11,000 more members, about 100 KiB, that counts how often they are read. */
function hostile(members: object, reads: { count: number }): object {
  const value = { ...members };
  for (let index = 0; index < 11_000; index++) {
    const get = (): number => ++reads.count;
    Object.defineProperty(value, `x${index}`, { enumerable: true, configurable: true, get });
  }
  return value;
}

describe('11,000 members without a rule are never read', () => {
  it.each<[string, Type, (reads: { count: number }) => object]>([
    ['a DTO', Name, (reads) => hostile(VALID_NAME, reads)],
    ['a pet', NewPet, (reads) => hostile({ name: 'Frank', categoryId: 1 }, reads)],
    [
      'a nested DTO',
      Order,
      (reads) => ({ buyer: hostile(VALID_NAME, reads), items: [VALID_NAME] }),
    ],
    [
      'an item of an array',
      Order,
      (reads) => ({ buyer: VALID_NAME, items: [VALID_NAME, hostile(VALID_NAME, reads)] }),
    ],
  ])('in %s', async (_title, Dto, create) => {
    const reads = { count: 0 };

    expect(await outcome(create(reads), Dto)).toHaveProperty('dto');
    expect(reads.count).toBe(0);
  });

  test('even if a @Transform() may read others', async () => {
    const reads = { count: 0 };
    const members = { first_name: 'Ada', title: ' Countess ', count: 0, numbers: [1, 2] };
    const sent = hostile(members, reads);

    expect(await outcome(sent, Renamed)).toEqual({
      dto: { firstName: 'Ada', count: 2, title: 'Countess' },
    });
    expect(reads.count).toBe(0);
  });
});

class Notes {
  @IsObject()
  notes!: object;

  @IsOptional()
  @IsString({ each: true })
  lines?: string[];
}

const objectOf = (members: number): object =>
  Object.fromEntries(Array.from({ length: members }, (_, index) => [`x${index}`, 1]));

describe('400 for more than 1,000 values in nested objects', () => {
  it.each<[string, Type, object, object]>([
    [
      'properties of DTOs',
      Order,
      { buyer: VALID_NAME, items: Array(498).fill(VALID_NAME) },
      { buyer: VALID_NAME, items: Array(499).fill(VALID_NAME) },
    ],
    ['members', Notes, { notes: objectOf(998) }, { notes: objectOf(999) }],
    [
      'members and items',
      Notes,
      { notes: { x: Array(996).fill([]) } },
      { notes: { x: Array(997).fill([]) } },
    ],
  ])('%s', async (_what, Dto, accepted, rejected) => {
    expect(await outcome(accepted, Dto)).toHaveProperty('dto');
    expect(await outcome(rejected, Dto)).toEqual({ message: TOO_MANY });
  });

  it('not for an array of 9,000 strings', async () => {
    expect(await outcome({ notes: {}, lines: Array(9_000).fill('x') }, Notes)).toHaveProperty(
      'dto',
    );
  });

  it('unless a rule rejects the value', async () => {
    expect(await outcome({ first: objectOf(5_000), number: null }, Name)).toEqual({
      message: expect.stringMatching(/^first must be a string; number must be/) as string,
    });
  });
});

describe('400 for text that PostgreSQL cannot store', () => {
  const text = { first: 'Ada', number: 1 };

  it.each<[string, Type, object, string]>([
    ['NUL', Name, { ...text, first: 'a\0' }, 'first'],
    ['a lone surrogate', Name, { ...text, first: 'a\ud800' }, 'first'],
    [
      'a nested DTO',
      Order,
      { buyer: text, items: [text, { ...text, first: '\udc00' }] },
      'items.1.first',
    ],
    ['an item of an array', Notes, { notes: {}, lines: ['a', '\0'] }, 'lines'],
    ['a member of an object', Notes, { notes: { a: { b: ['\ud800'] } } }, 'notes'],
    ['the name of a member', Notes, { notes: { '\ud800': 1, '\udc00': 1 } }, 'notes'],
  ])('%s', async (_what, Dto, value, property) => {
    expect(await outcome(value, Dto)).toEqual({
      message: `${property} must not contain NUL or a lone surrogate.`,
    });
  });

  it('not for pairs of surrogates, nor in members without a rule', async () => {
    const { dto } = await outcome({ ...text, first: '🐈', other: '\0' }, Name);
    expect(dto).toEqual({ first: '🐈', number: 1n });
  });
});

test('@IsInt64(1n, 5n) rejects an integer outside of its range, and names the range', async () => {
  class Weight {
    @IsInt64(1n, 5n)
    grams!: bigint;
  }
  expect(await outcome({ grams: 5 }, Weight)).toEqual({ dto: { grams: 5n } });
  for (const grams of [0, 6, 1.5]) {
    expect(await outcome({ grams }, Weight)).toEqual({
      message: 'grams must be an integer from 1 to 5.',
    });
  }
});

test('@IsInt() and @IsNumber() name their range when an integer is too large for a number', async () => {
  class Size {
    @IsInt()
    width!: number;

    @IsNumber({}, { each: true })
    heights!: number[];
  }
  const range = 'from -9007199254740991 to 9007199254740991';
  expect(await outcome({ width: 9007199254740993n, heights: [1, 2n ** 60n] }, Size)).toEqual({
    message: `width must be an integer number ${range}; each item of heights must be a number conforming to the specified constraints ${range}.`,
  });
  expect(await outcome({ width: 0.5, heights: [1] }, Size)).toEqual({
    message: 'width must be an integer number.',
  });
});
