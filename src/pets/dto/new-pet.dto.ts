import { ApiProperty, ApiSchema, OmitType } from '@nestjs/swagger';
import { Pet, type PetStatus } from '../pet.entity.js';

/** The body of `POST /v1/pets`. */
@ApiSchema({ description: 'An animal to add.' })
export class NewPet extends OmitType(Pet, ['id', 'createdAt', 'createdByKeyId']) {
  // Described in words: without `default` in the schema, generated clients keep the property optional.
  @ApiProperty({
    enumName: 'PetStatus',
    required: false,
    description: 'Adoption status of the animal. If omitted, the status is `available`.',
  })
  override status: PetStatus = 'available';
}
