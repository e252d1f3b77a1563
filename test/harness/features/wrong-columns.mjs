// @ts-check
// An entity with columns that TypeORM would not treat as they are declared. The decorators are applied
// by hand, because this file is JavaScript.
import { TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { feature } from './decorate.mjs';

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its properties are decorated below
class Toy {}
/** @param {string} name @param {Function} type @param {PropertyDecorator} column */
function property(name, type, column) {
  Reflect.defineMetadata('design:type', type, Toy.prototype, name);
  column(Toy.prototype, name);
}
property('id', BigInt, PrimaryGeneratedColumn({ type: 'bigint' }));
property('ownerId', String, Column('bigint'));
property('price', Number, Column('int8'));
property('weight', BigInt, Column('bigint'));
property('size', Number, Column('integer'));
const AS_TEXT = { to: Number, from: String };
property('serial', String, Column('bigint', { transformer: AS_TEXT }));
Entity('toys')(Toy);

export default [feature({ imports: [TypeOrmModule.forFeature([Toy])] })];
