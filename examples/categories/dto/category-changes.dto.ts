import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { IsOptionalMember, IsText } from '#platform';

/** The body of `PATCH /v1/categories/{categoryId}`. A missing property stays as it is. */
@ApiSchema({ description: 'Changes of a category. A missing property stays as it is.' })
export class CategoryChanges {
  @ApiProperty({ description: 'The new name.', example: 'Kittens' })
  @IsOptionalMember()
  @IsText(1, 100)
  name?: string;

  // Unlike @IsOptionalMember(), @IsOptional() accepts null, which removes the description.
  @ApiProperty({
    nullable: true,
    required: false,
    description: 'The new description. `null` removes the description.',
    example: 'Young cats.',
  })
  @IsOptional()
  @IsText(1, 1000)
  description?: string | null;
}
