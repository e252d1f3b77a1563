import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm';

// In one file, because files that import each other break `npm run deps`.

@Entity('shelters')
export class Shelter {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('text')
  city!: string;

  @OneToMany(() => Room, (room) => room.shelter, { cascade: true })
  rooms!: Relation<Room>[];
}

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
