import 'reflect-metadata';
import { type Type, ValidationPipe } from '@nestjs/common';
import { Expose, Transform, Type as NestedType } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsDefined,
  IsEmail,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Max,
  MaxLength,
  Validate,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
} from 'class-validator';
import fc from 'fast-check';
import { ChangesOf } from '../../../../src/platform/http/validation/changes-of.js';
import {
  DtoValidationPipe,
  toDto,
} from '../../../../src/platform/http/validation/dto-validation.pipe.js';
import { INT64_MAX } from '../../../../src/platform/http/validation/int64.pipe.js';
import {
  IsInt64,
  IsIntegerParameter,
  IsOneOf,
  IsOptionalMember,
  IsText,
} from '../../../../src/platform/http/validation/property-rules.js';
import { validDto } from '../../../../src/platform/http/validation/valid-dto.js';

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

describe('ChangesOf', () => {
  class NewToy {
    @IsText(1, 100)
    name!: string;

    @IsOptional()
    @IsText(1, 100)
    color?: string | null;

    @IsOneOf(['new', 'used'])
    state = 'new';
  }
  class ToyChanges extends ChangesOf(NewToy) {}

  test.each<[values: object]>([[{}], [{ name: 'ball' }], [{ color: null, state: 'used' }]])(
    '%j changes nothing else',
    async (values) => {
      expect({ ...(await toDto<object>(ToyChanges, values)) }).toEqual(values);
      expect(await toDto(NewToy, { name: 'car', ...values })).toMatchObject({
        state: expect.any(String),
      });
    },
  );

  test('a value breaks the rules of the DTO, and null needs @IsOptional()', async () => {
    const changes = toDto(ToyChanges, { name: null, color: '', state: null });
    await expect(changes).rejects.toThrow(
      /name must be .+; color must be .+; state must be one of new/,
    );
  });
});

describe('validDto', () => {
  const trim = ({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.trim() : value;

  class NewToy {
    @IsText(1, 5)
    name!: string;

    @IsInt64()
    number!: bigint;

    @IsOptionalMember()
    @IsIntegerParameter(1, 100)
    limit?: number;

    @IsOneOf(['new', 'used'])
    state = 'new';

    @Transform(trim)
    @IsOptional()
    @IsEmail()
    email?: string | null;

    @ValidateIf((toy: NewToy) => toy.state === 'used')
    @Length(2, 3)
    owner?: string;
  }

  class ToyChanges extends ChangesOf(NewToy) {}

  class ToyWithDefault extends NewToy {
    /** No rule: the pipe removes it. */
    isComplete = false;
  }

  const MEMBERS = [
    'name',
    'number',
    'limit',
    'state',
    'email',
    'owner',
    'Name',
    '__proto__',
    'then',
    'isComplete',
  ];
  const VALUES = [
    '',
    'ab',
    ' ab ',
    '7',
    '07',
    'new',
    'used',
    'a@example.org',
    ' a@example.org ',
    7,
    7.5,
    10n ** 18n,
    2n ** 63n,
    true,
    null,
    undefined,
    {},
    ['ab'],
  ];

  const pipe = new ValidationPipe({ transform: true, whitelist: true });

  /** Returns what NestJS' pipe returns for the same values, undefined for a rejection. */
  const ordinary = async (values: object, metatype: Type): Promise<unknown> =>
    pipe.transform({ ...values }, { type: 'body', metatype }).catch(() => undefined);

  test.each<[Type]>([[NewToy], [ToyChanges]])(
    '%p returns the DTO of the ordinary pipe, or none',
    async (type) => {
      let valid = 0;
      const member = fc.tuple(fc.constantFrom(...MEMBERS), fc.constantFrom(...VALUES));
      const property = fc.asyncProperty(fc.array(member, { maxLength: 3 }), async (changes) => {
        const values = { name: 'ab', number: 7, ...Object.fromEntries(changes) };
        const dto = validDto(values, type);
        if (dto) expect(dto).toStrictEqual(await ordinary(values, type));
        if (dto) valid++;
      });
      await fc.assert(property, { numRuns: 3_000 });
      // Otherwise, the property would have compared nothing.
      expect(valid).toBeGreaterThan(0);
    },
  );

  class Simple {
    @IsText(1, 5)
    name!: string;

    @IsInt64()
    number!: bigint;
  }

  test.each([
    ['a valid value', { name: 'Rex', number: 7 }, true],
    ['an integer beyond the safe range', { name: 'Rex', number: 2n ** 62n }, true],
    ['an invalid value', { name: '', number: 7 }, false],
    ['a missing property', { name: 'Rex' }, false],
    ['an unknown member', { name: 'Rex', number: 7, color: 'red' }, false],
    ['a nested value', { name: ['Rex'], number: 7 }, false],
  ])('%s', (_title, values, isValid) => {
    expect(validDto(values, Simple) !== undefined).toBe(isValid);
  });

  test('class-validator removes a property without a rule', () => {
    expect(validDto({ name: 'Rex', number: 7 }, ToyWithDefault)).toBeUndefined();
    expect(validDto({ name: 'Rex', number: 7 }, NewToy)).toBeDefined();
  });

  class Renamed {
    @Expose({ name: 'title' })
    @IsText(1, 5)
    name!: string;
  }

  class Nested {
    @ValidateNested()
    @NestedType(() => Simple)
    toy!: Simple;
  }

  @ValidatorConstraint()
  class Late {
    validate(): Promise<boolean> {
      return Promise.resolve(false);
    }
  }

  class Asynchronous {
    @Validate(Late)
    name!: string;
  }

  test.each<[string, Type, object]>([
    ['a member with another name', Renamed, { title: 'Rex' }],
    ['a nested DTO', Nested, { toy: { name: 'Rex', number: 7 } }],
    ['a rule that returns a promise', Asynchronous, { name: 'Rex' }],
  ])('class-validator looks at %s', (_title, type, values) => {
    expect(validDto(values, type)).toBeUndefined();
  });
});
