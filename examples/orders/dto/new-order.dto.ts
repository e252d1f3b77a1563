import { ApiInt64 } from '../../platform/http/openapi/decorators/api-json.decorator.js';
import { ApiModel } from '../../platform/http/openapi/decorators/api-model.decorator.js';
import { IsInt64 } from '../../platform/http/validation/property-rules.js';

/** The body of `POST /v1/orders`. */
@ApiModel({ description: 'An animal to buy.', example: { petId: 1 } })
export class NewOrder {
  @ApiInt64('Identifier of the animal.')
  @IsInt64()
  petId!: bigint;
}
