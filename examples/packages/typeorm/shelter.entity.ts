import { Column, Entity, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm';
import { Room } from './room.entity.js';

@Entity('shelters')
export class Shelter {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('text')
  city!: string;

  @OneToMany(() => Room, (room) => room.shelter, { cascade: true })
  rooms!: Relation<Room>[];
}
