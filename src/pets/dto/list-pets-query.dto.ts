import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf, IsOptionalMember, PageQuery } from '#platform';
import { PET_STATUSES, type PetStatus } from '../pet.entity.js';

/** The query parameters of the list. */
export class ListPetsQuery extends PageQuery {
  @ApiProperty({ enumName: 'PetStatus', description: 'Only animals with this status.' })
  @IsOptionalMember()
  @IsOneOf(PET_STATUSES)
  status?: PetStatus;
}
