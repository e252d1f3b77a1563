import { ApiProperty } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '../../errors/catalogue.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ApiModel } from './decorators/api-model.decorator.js';

/** The body of every error response, for the interface description. */
@ApiModel({
  name: 'Error',
  description: 'The body of every error response. It has exactly these three fields.',
  additionalProperties: false,
  example: { code: 'route_not_found', message: PUBLIC_MESSAGES.routeNotFound, status: 404 },
})
export class ErrorBody {
  @ApiProperty({
    enum: ERROR_CODES,
    description: 'The kind of error, for programs. The set of codes is closed.',
    example: 'route_not_found',
  })
  code!: ErrorCode;

  @ApiProperty({
    type: 'string',
    description: 'An explanation for people. The wording can change.',
    example: PUBLIC_MESSAGES.routeNotFound,
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
