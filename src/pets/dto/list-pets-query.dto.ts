import { ApiProperty } from '@nestjs/swagger';
import { Allow } from 'class-validator';
import {
  IsIntegerParameter,
  IsOneOf,
  IsOptionalMember,
} from '../../http/validation/property-rules.js';
import { PET_STATUSES, type PetStatus } from '../pet-status.js';

export const MAX_PAGE_SIZE = 100;
export const DEFAULT_PAGE_SIZE = 20;

/** The query parameters of the list. */
export class ListPetsQuery {
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    default: DEFAULT_PAGE_SIZE,
    required: false,
    description: 'Maximum number of animals on the page.',
    example: DEFAULT_PAGE_SIZE,
  })
  @IsIntegerParameter(1, MAX_PAGE_SIZE)
  limit: number = DEFAULT_PAGE_SIZE;

  @ApiProperty({
    enum: PET_STATUSES,
    enumName: 'PetStatus',
    required: false,
    description: 'Only animals with this status.',
  })
  @IsOptionalMember()
  @IsOneOf(PET_STATUSES)
  status?: PetStatus;

  /** Not validated here: an invalid cursor has an error code of its own. */
  @ApiProperty({
    type: 'string',
    required: false,
    description:
      'Position of the page, copied unchanged from the `Link` header of the previous page.',
    example: 'MjA6YXZhaWxhYmxl',
  })
  @Allow()
  cursor?: unknown;
}
