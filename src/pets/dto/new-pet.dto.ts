import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { INT64, IsInt64, IsOneOf } from '#platform';
import { PetName } from '../pet-name.js';
import { PET_STATUSES, type PetStatus } from '../pet.entity.js';

/** The body of `POST /v1/pets`. */
@ApiSchema({ description: 'An animal to add.' })
export class NewPet {
  @PetName()
  name!: string;

  @ApiProperty({ ...INT64, description: 'Identifier of the category that the animal belongs to.' })
  @IsInt64()
  categoryId!: bigint;

  // Described in words: without `default` in the schema, generated clients keep the property optional.
  @ApiProperty({
    enumName: 'PetStatus',
    required: false,
    description: 'Adoption status of the animal. If omitted, the status is `available`.',
  })
  @IsOneOf(PET_STATUSES)
  status: PetStatus = 'available';
}
