import { ApiProperty } from '@nestjs/swagger';
import { ApiInt64 } from '../../platform/http/openapi/decorators/api-json.decorator.js';
import { ApiModel } from '../../platform/http/openapi/decorators/api-model.decorator.js';
import { IsInt64, IsOneOf, IsText } from '../../platform/http/validation/property-rules.js';
import { PET_STATUSES, type PetStatus } from '../pet-status.js';

/** The body of `POST /v1/pets`. */
@ApiModel({
  description: 'An animal to add.',
  example: { name: 'Frank', categoryId: 1, status: 'available' },
})
export class NewPet {
  @ApiProperty({
    type: 'string',
    description:
      "The animal's name. It contains at least one character that is not white space, and no NUL.",
    minLength: 1,
    maxLength: 255,
    pattern: '^[^\\u0000]*[^\\s\\u0000\\u0085][^\\u0000]*$',
    example: 'Frank',
  })
  @IsText(1, 255)
  name!: string;

  @ApiInt64('Identifier of the category that the animal belongs to.')
  @IsInt64()
  categoryId!: bigint;

  // Described in words: without `default` in the schema, generated clients keep the property optional.
  @ApiProperty({
    enum: PET_STATUSES,
    enumName: 'PetStatus',
    required: false,
    description: 'Adoption status of the animal. If omitted, the status is `available`.',
  })
  @IsOneOf(PET_STATUSES)
  status: PetStatus = 'available';
}
