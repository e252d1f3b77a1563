import { IsOptional } from 'class-validator';
import { ChangesOf } from '../../../../src/platform/http/validation/changes-of.js';
import { toDto } from '../../../../src/platform/http/validation/dto-validation.pipe.js';
import { IsOneOf, IsText } from '../../../../src/platform/http/validation/property-rules.js';

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
  'ChangesOf › %j changes nothing else',
  async (values) => {
    expect({ ...(await toDto<object>(ToyChanges, values)) }).toEqual(values);
    expect(await toDto(NewToy, { name: 'car', ...values })).toMatchObject({
      state: expect.any(String),
    });
  },
);

test('ChangesOf › a value breaks the rules of the DTO, and null needs @IsOptional()', async () => {
  const changes = toDto(ToyChanges, { name: null, color: '', state: null });
  await expect(changes).rejects.toThrow(
    /name must be .+; color must be .+; state must be one of new/,
  );
});
