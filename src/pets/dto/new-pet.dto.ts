import { ApiProperty } from '@nestjs/swagger';
import { IsInt64 } from '../../http/validation/int64.js';
import { IsOneOf } from '../../http/validation/one-of.js';
import { IsPetName } from './pet-name.js';
import { PET_STATUSES, type PetStatus } from '../pet-status.js';

/** An animal to be added. */
export class NewPet {
  @ApiProperty({
    description: "The animal's name: at least one character that is not white space.",
    minLength: 1,
    maxLength: 255,
    pattern: '\\S',
    example: 'Frank',
  })
  @IsPetName()
  name!: string;

  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description: 'Identifier of the category the animal belongs to.',
    example: 1,
  })
  @IsInt64()
  categoryId!: bigint;

  @ApiProperty({
    enum: PET_STATUSES,
    enumName: 'PetStatus',
    required: false,
    default: 'available',
  })
  @IsOneOf(PET_STATUSES)
  status: PetStatus = 'available';
}
