import { ApiProperty, ApiSchema, PickType } from '@nestjs/swagger';
import { IsOneOf } from '#platform';
import { Pet, PET_STATUSES, type PetStatus } from '../pet.entity.js';

/** The body of `POST /v1/pets`. */
@ApiSchema({ description: 'An animal to add.' })
export class NewPet extends PickType(Pet, ['name', 'categoryId']) {
  // Described in words: without `default` in the schema, generated clients keep the property optional.
  @ApiProperty({
    enumName: 'PetStatus',
    required: false,
    description: 'Adoption status of the animal. If omitted, the status is `available`.',
  })
  @IsOneOf(PET_STATUSES)
  status: PetStatus = 'available';
}
