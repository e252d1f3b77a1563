import { ApiHideProperty, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { INT64 } from '#platform';

/** A category of animals. */
@ApiSchema({ description: 'A category of animals.' })
@Entity('categories')
// TypeORM cannot declare an index of an expression. The migration creates it.
@Index('categories_name_key', { synchronize: false })
@Check('categories_name_check', 'char_length(name) BETWEEN 1 AND 100')
@Check('categories_description_check', 'char_length(description) BETWEEN 1 AND 1000')
export class Category {
  @ApiProperty({ ...INT64, description: 'Unique identifier, assigned by the service on creation.' })
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'categories_pkey',
  })
  id!: bigint;

  @ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: 100,
    description: 'Name of the category, unique regardless of case.',
    example: 'Cats',
  })
  @Column('text')
  name!: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    minLength: 1,
    maxLength: 1000,
    description: 'Description of the category.',
    example: 'Felis catus.',
  })
  @Column('text', { nullable: true })
  description!: string | null;

  @ApiHideProperty()
  @Column('timestamptz', { name: 'created_at', default: () => 'now()', select: false })
  createdAt!: Date;
}
