import { ApiProperty } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '../../errors/catalogue.js';
import { ApiModel } from './decorators/api-model.decorator.js';

/** The body of every failure, as the interface description tells it. */
@ApiModel({
  name: 'Error',
  description: 'What every failure answers: exactly these three members.',
  additionalProperties: false,
  example: { code: 'route_not_found', message: 'There is nothing at this path.', status: 404 },
})
export class ErrorBody {
  @ApiProperty({
    enum: ERROR_CODES,
    description: 'What went wrong, for programs: one of a closed set.',
    example: 'route_not_found',
  })
  code!: ErrorCode;

  @ApiProperty({
    type: 'string',
    description: 'What went wrong, for people to read. Its wording may change.',
    example: 'There is nothing at this path.',
  })
  message!: string;

  @ApiProperty({
    type: 'integer',
    minimum: 400,
    maximum: 599,
    description: 'The HTTP status of the response.',
    example: 404,
  })
  status!: number;
}
