import 'reflect-metadata';
import type { ArgumentMetadata, Type } from '@nestjs/common';
import { Type as NestedType } from 'class-transformer';
import { ArrayNotEmpty, IsString, ValidateNested } from 'class-validator';
import fc from 'fast-check';
import { FlatDto, isFlatDto } from '../../src/http/validation/flat-dto.js';
import { INT64_MAX } from '../../src/http/validation/int64.js';
import { IsInt64 } from '../../src/http/validation/property-rules.js';
import { ValidationPipe } from '../../src/http/validation/validation.pipe.js';
import { ListPetsQuery } from '../../src/pets/dto/list-pets-query.dto.js';
import { NewPet } from '../../src/pets/dto/new-pet.dto.js';
import { holds } from '../harness/fuzz/property.js';

const pipe = new ValidationPipe();

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

  it('cannot be part of a flat DTO', async () => {
    @FlatDto()
    class FlatOrder extends Order {}

    const { message } = await outcome({}, FlatOrder);

    expect(message).toBe('FlatOrder has a nested DTO: remove @FlatDto() from it.');
  });
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

describe.each([
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
] as [Type, Record<string, fc.Arbitrary<unknown>>][])('%p', (Dto, members) => {
  // A subclass has the same rules, and takes NestJS' way because it is not marked itself.
  class Ordinary extends Dto {}

  it('gets the same result as a flat DTO and as an ordinary one', async () => {
    expect(isFlatDto(Dto)).toBe(true);
    expect(isFlatDto(Ordinary)).toBe(false);
    const anything = Object.fromEntries(
      Object.entries(members).map(([name, value]) => [name, fc.oneof(value, fc.jsonValue())]),
    );
    const sent = fc.oneof(
      { weight: 6, arbitrary: fc.record({ ...members }, { requiredKeys: [] }) },
      {
        weight: 4,
        arbitrary: fc.record({ ...anything, other: fc.jsonValue() }, { requiredKeys: [] }),
      },
      { weight: 1, arbitrary: fc.jsonValue() },
    );
    await holds(sent, async (value) => {
      expect(await outcome(value, Dto)).toEqual(await outcome(value, Ordinary));
    });
  });
});
