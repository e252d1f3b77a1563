import { ApiHideProperty, ApiProperty, OmitType } from '@nestjs/swagger';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { INT64, IsInt64, IsOneOf, IsText } from '#platform';

export const STATUSES = ['available', 'pending', 'sold'] as const;

@Entity('test_items')
export class Item {
  @ApiProperty(INT64)
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @ApiProperty()
  @IsText(1, 255)
  @Column('text')
  name!: string;

  @ApiProperty(INT64)
  @IsInt64()
  @Column('bigint', { name: 'category_id' })
  categoryId!: bigint;

  @ApiProperty({ enum: STATUSES, enumName: 'ItemStatus' })
  @IsOneOf(STATUSES)
  @Column({ type: 'text', collation: 'C' })
  status!: (typeof STATUSES)[number];

  @ApiHideProperty()
  @Column('bigint', { name: 'created_by_key_id', nullable: true, select: false })
  createdByKeyId!: bigint | null;
}

export class NewItem extends OmitType(Item, ['id', 'createdByKeyId']) {
  @ApiProperty({ enumName: 'ItemStatus', required: false })
  override status: Item['status'] = 'available';
}
