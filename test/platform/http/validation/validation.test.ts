import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { Expose, Type as NestedType } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsDefined,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { INT64_MAX } from '../../../../src/platform/http/validation/int64.pipe.js';
import { IsInt64, IsText } from '../../../../src/platform/http/validation/property-rules.js';
import { DtoValidationPipe } from '../../../../src/platform/http/validation/dto-validation.pipe.js';

const pipe = new DtoValidationPipe();

async function outcome(
  value: unknown,
  metatype: Type,
): Promise<{ dto?: object; message?: string }> {
  try {
    // As JSON objects are compared: without the class, which differs on purpose.
    return { dto: { ...((await pipe.transform(value, { type: 'body', metatype })) as object) } };
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

test('400 for a name that differs from that of a property only in case, in nested DTOs too', async () => {
  const order = { buyer: { ...ADA, First: 'Bo' }, items: [ADA, { ...ADA, NUMBER: 2 }] };
  expect(await outcome({ ...order, Items: [], unknown: 1 }, Order)).toEqual({
    message:
      'buyer.First must be written as first; items.1.NUMBER must be written as number; ' +
      'Items must be written as items.',
  });
});

class Rating {
  @IsInt()
  @Max(5)
  stars!: number;

  @IsArray()
  @IsString({ each: true })
  @MaxLength(3, { each: true })
  tags!: string[];
}

test.each([
  [{ stars: '3', tags: null }, 'stars must be an integer number; tags must be an array.'],
  [
    { stars: 6, tags: [7] },
    'stars must not be greater than 5; each value in tags must be a string.',
  ],
  [
    {},
    'stars is required: stars must be an integer number; tags is required: tags must be an array.',
  ],
])('400 for %j names the first rule that a property breaks', async (value, message) => {
  expect(await outcome(value, Rating)).toEqual({ message });
});

test('400 for a name with `[]`, as some clients write that of an array, names the right one', async () => {
  for (const name of ['tags[]', 'Tags[]'])
    expect(await outcome({ stars: 3, tags: ['a'], [name]: ['b'] }, Rating)).toEqual({
      message: `${name} must be written as tags.`,
    });
});

class Notes {
  @IsObject()
  notes!: object;

  @IsOptional()
  @IsString({ each: true })
  lines?: string[];
}

const ADA = { first: 'Ada', number: 7 };

test('a nested DTO is converted, and rejected with the path of every invalid property', async () => {
  const order = { buyer: ADA, items: [ADA, { first: 'Bo', number: INT64_MAX }] };
  const { dto } = await outcome(order, Order);
  expect(dto).toEqual({
    buyer: { first: 'Ada', number: 7n },
    items: [
      { first: 'Ada', number: 7n },
      { first: 'Bo', number: INT64_MAX },
    ],
  });
  const invalid = { items: [ADA, { number: 1.5 }], buyer: { first: 7, number: 1 } };
  expect(await outcome(invalid, Order)).toEqual({
    message:
      'buyer.first: first must be a string; items.1.first is required: first must be a string; ' +
      'items.1.number must be an integer from -9223372036854775808 to 9223372036854775807, as a JSON number and not as a string.',
  });
});

test('400 with the first 50 messages when an array has many invalid items', async () => {
  const items = Array.from({ length: 300 }, () => ({ first: 1, number: 1 }));
  const { message = '' } = await outcome({ buyer: ADA, items }, Order);
  expect(message).toMatch(/; items\.49\.first: first must be a string; and 250 more\.$/);
  expect(message.length).toBeLessThan(5_000);
});

test('400 for a free-form integer that JSON.stringify could not write', async () => {
  const large = 9007199254740993n;
  expect(await outcome({ notes: { size: [1n, -(2n ** 53n)] } }, Notes)).toEqual({
    message: 'notes.size.1 must be an integer from -9007199254740991 to 9007199254740991.',
  });
  expect(await outcome({ notes: { size: large } }, Notes)).toHaveProperty('message');
  expect(await outcome({ ...ADA, number: large }, Name)).toHaveProperty('dto.number', large);
});

class Person extends Name {
  @Expose({ name: 'last_name' })
  @IsString()
  lastName!: string;
}

class Household {
  @ValidateNested({ each: true })
  @NestedType(() => Person)
  people!: Person[];
}

test('a member sets the property that it is exposed for, and inherited properties are listed first', async () => {
  const ada = { first: 'Ada', number: 7n, lastName: 'Lovelace' };
  expect((await outcome({ last_name: 'Lovelace', ...ADA }, Person)).dto).toEqual(ada);
  const names = async (value: unknown, dto: Type) =>
    (await outcome(value, dto)).message?.match(/[\w.]+(?= is required)/g);
  expect(await names({}, Person)).toEqual(['first', 'number', 'lastName']);
  const nested = ['people.0.first', 'people.0.number', 'people.0.lastName'];
  expect(await names({ people: [{}] }, Household)).toEqual(nested);
});

class Code {
  @IsText(2, 3)
  code!: string;
}

test.each([
  ['a', false],
  ['🐈', false],
  ['ab', true],
  ['🐈🐈🐈', true],
  ['🐈🐈🐈🐈', false],
])('text is measured in code points: %s', async (code, isAccepted) => {
  expect('dto' in (await outcome({ code }, Code))).toBe(isAccepted);
});

const objectOf = (members: number): object =>
  Object.fromEntries(Array.from({ length: members }, (_, index) => [`x${index}`, 1]));
const orderOf = (items: number) => ({ buyer: ADA, items: Array(items).fill(ADA) });
const notesOf = (items: number) => ({ notes: { x: Array(items).fill([]) } });

test.each<[string, Type, accepted: object, rejected: object]>([
  ['properties of DTOs', Order, orderOf(332), orderOf(333)],
  ['members', Notes, { notes: objectOf(1_000) }, { notes: objectOf(1_001) }],
  ['members and items', Notes, notesOf(999), notesOf(1_000)],
])(
  '400 for more than 1,000 values in nested objects and arrays: %s',
  async (_what, Dto, accepted, rejected) => {
    expect(await outcome(accepted, Dto)).toHaveProperty('dto');
    expect(await outcome(rejected, Dto)).toEqual({
      message: 'The request has more than 1,000 values in its nested objects and arrays.',
    });
  },
);
