import 'reflect-metadata';
import { type Type, ValidationPipe } from '@nestjs/common';
import { Expose, Transform, Type as NestedType } from 'class-transformer';
import {
  IsEmail,
  IsOptional,
  Length,
  Validate,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
} from 'class-validator';
import fc from 'fast-check';
import { ChangesOf } from '../../../../src/platform/http/validation/changes-of.js';
import {
  IsInt64,
  IsIntegerParameter,
  IsOneOf,
  IsOptionalMember,
  IsText,
} from '../../../../src/platform/http/validation/property-rules.js';
import { validDto } from '../../../../src/platform/http/validation/valid-dto.js';

const trim = ({ value }: { value: unknown }) => (typeof value === 'string' ? value.trim() : value);

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
  'validDto › %p returns the DTO of the ordinary pipe, or none',
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
])('validDto › %s', (_title, values, isValid) => {
  expect(validDto(values, Simple) !== undefined).toBe(isValid);
});

test('validDto › class-validator removes a property without a rule', () => {
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
])('validDto › class-validator looks at %s', (_title, type, values) => {
  expect(validDto(values, type)).toBeUndefined();
});
