import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm';
import { Shelter } from './shelter.entity.js';

@Entity('rooms')
export class Room {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('text')
  name!: string;

  @ManyToOne(() => Shelter, (shelter) => shelter.rooms, { nullable: false })
  @JoinColumn({ name: 'shelter_id', foreignKeyConstraintName: 'rooms_shelter_id_fkey' })
  shelter!: Relation<Shelter>;
}
