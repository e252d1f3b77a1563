import { ApiHideProperty, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { INT64, IsInt64, IsOneOf, IsText } from '#platform';

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

/** The adoption status of an animal. */
export type PetStatus = (typeof PET_STATUSES)[number];

const STATUS_SCHEMA = { description: 'Adoption status of an animal.' };

/**
 * An individual animal. The order of its properties is that of the response. NewPet inherits all
 * but those that it omits. Add new ones at the end, so that the stored idempotency keys stay valid.
 */
@ApiSchema({ description: 'An individual animal.' })
@Entity('pets')
@Index('pets_status_id_idx', ['status', 'id'])
@Check('pets_name_check', 'char_length(name) BETWEEN 1 AND 255')
@Check('pets_status_check', `status IN ('available', 'pending', 'sold')`)
export class Pet {
  @ApiProperty({ ...INT64, description: 'Unique identifier, assigned by the service on creation.' })
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @ApiProperty({
    description:
      "The animal's name. It contains at least one character that is not white space, no NUL and no byte order mark (U+FEFF).",
    example: 'Frank',
  })
  @IsText(1, 255)
  @Column('text')
  name!: string;

  @ApiProperty({ ...INT64, description: 'Identifier of the category that the animal belongs to.' })
  @IsInt64()
  @Column('bigint', { name: 'category_id' })
  categoryId!: bigint;

  @ApiProperty({
    enum: PET_STATUSES,
    enumName: 'PetStatus',
    enumSchema: STATUS_SCHEMA,
    description: 'Adoption status of the animal.',
    example: 'available',
  })
  @IsOneOf(PET_STATUSES)
  @Column({ type: 'text', collation: 'C' })
  status!: PetStatus;

  @ApiHideProperty()
  @Column('timestamptz', { name: 'created_at', default: () => 'now()', select: false })
  createdAt!: Date;

  /** The API key that added the animal. */
  @ApiHideProperty()
  @Column('bigint', { name: 'created_by_key_id', nullable: true, select: false })
  createdByKeyId!: bigint | null;
}
