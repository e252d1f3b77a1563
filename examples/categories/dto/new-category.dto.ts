import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { IsText } from '#platform';

/** The body of `POST /v1/categories`. */
@ApiSchema({ description: 'A category to add.' })
export class NewCategory {
  @ApiProperty({
    description: 'Name of the category. No other category has this name in any case.',
    example: 'Cats',
  })
  @IsText(1, 100)
  name!: string;

  @ApiProperty({
    nullable: true,
    required: false,
    description: 'Description of the category.',
    example: 'Felis catus.',
  })
  @IsOptional()
  @IsText(1, 1000)
  description?: string | null;
}
