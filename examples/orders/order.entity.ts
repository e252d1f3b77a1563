import { ApiHideProperty, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Column, Entity, ForeignKey, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { INT64 } from '#platform';

/** The sale of an animal. */
@ApiSchema({ description: 'The sale of an animal.' })
@Entity('orders')
@Unique('orders_pet_id_key', ['petId'])
export class Order {
  @ApiProperty({ ...INT64, description: 'Unique identifier, assigned by the service on creation.' })
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'orders_pkey',
  })
  id!: bigint;

  /** The owner that bought the animal. */
  @ApiHideProperty()
  @Column('bigint', { name: 'owner_id', select: false })
  ownerId!: bigint;

  // By name, because a feature does not import the entities of another one.
  @ApiProperty({ ...INT64, description: 'Identifier of the animal.' })
  @Column('bigint', { name: 'pet_id' })
  @ForeignKey('Pet', { name: 'orders_pet_id_fkey' })
  petId!: bigint;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'When the order was confirmed. `null` before.',
    example: null,
  })
  @Column('timestamptz', { name: 'confirmed_at', nullable: true })
  confirmedAt!: Date | null;

  @ApiHideProperty()
  @Column('timestamptz', { name: 'created_at', default: () => 'now()', select: false })
  createdAt!: Date;
}

/** An order that an operator has cancelled. */
export interface CancelledOrder {
  orderId: bigint;
  petId: bigint;
}
