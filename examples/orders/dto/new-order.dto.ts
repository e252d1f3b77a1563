import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { INT64, IsInt64 } from '#platform';

/** The body of `POST /v1/orders`. */
@ApiSchema({ description: 'An animal to buy.' })
export class NewOrder {
  @ApiProperty({ ...INT64, description: 'Identifier of the animal.' })
  @IsInt64()
  petId!: bigint;
}
