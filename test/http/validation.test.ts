import 'reflect-metadata';
import { type ArgumentMetadata, type Type, ValidationPipe } from '@nestjs/common';
import { Expose, Transform, Type as NestedType } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsDefined,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
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
  @IsDefined()
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
  const items = Array.from({ length: 300 }, () => ({ first: 1, number: 1 }));
  const { message = '' } = await outcome({ buyer: VALID_NAME, items }, Order);

  expect(message).toMatch(/; items\.49\.first must be a string; and 250 more\.$/);
  expect(message.length).toBeLessThan(5_000);
});

test('a parameter that is not a DTO is converted by its type, as in NestJS', async () => {
  const sent = { type: 'param', metatype: Number, data: 'id' } as const;
  expect(await pipe.transform('16', sent)).toBe(16);
  expect(await pipe.transform('16', { ...sent, metatype: BigInt as unknown as Type })).toBe('16');
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

test('11,000 members without a rule are not copied, even if a @Transform() may read them', async () => {
  let reads = 0;
  const sent = { first_name: 'Ada', title: ' Countess ', count: 0 };
  for (let index = 0; index < 11_000; index++) {
    const get = (): number => (reads++, index);
    Object.defineProperty(sent, `x${index}`, { enumerable: true, configurable: true, get });
  }
  const { dto } = await outcome(sent, Renamed);
  expect(dto).toEqual({ firstName: 'Ada', title: 'Countess' });
  // Once, to count what they contain.
  expect(reads).toBe(11_000);
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
      { buyer: VALID_NAME, items: Array(332).fill(VALID_NAME) },
      { buyer: VALID_NAME, items: Array(333).fill(VALID_NAME) },
    ],
    ['members', Notes, { notes: objectOf(1_000) }, { notes: objectOf(1_001) }],
    [
      'members and items',
      Notes,
      { notes: { x: Array(998).fill([]) } },
      { notes: { x: Array(999).fill([]) } },
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
