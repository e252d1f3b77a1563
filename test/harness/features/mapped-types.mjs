// @ts-check
// DTOs and results that rely on the metadata of class-transformer, in the modules that run in
// production. The decorators are applied by hand, because this file is JavaScript.
import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Patch,
  UseInterceptors,
} from '@nestjs/common';
import { ApiOkResponse, PartialType } from '@nestjs/swagger';
import { Exclude, Transform, Type } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { IsInt64, IsText } from '#dist/platform/http/validation/property-rules.js';
import { decorate, feature } from './decorate.mjs';

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its property is decorated below
class Box {}
IsInt64()(Box.prototype, 'width');

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its properties are decorated below
class NewToy {}
Transform(({ value }) => (typeof value === 'string' ? value.trim() : value))(
  NewToy.prototype,
  'name',
);
IsText(1, 100)(NewToy.prototype, 'name');
IsInt64()(NewToy.prototype, 'petId');
ValidateNested()(NewToy.prototype, 'box');
Type(() => Box)(NewToy.prototype, 'box');

class ToyChanges extends PartialType(NewToy) {}

class Toy {
  name = 'Rope';
  price = 5;
}
Exclude()(Toy.prototype, 'price');

class ToysController {
  /** @param {ToyChanges} changes */
  update(changes) {
    return changes;
  }
  find() {
    return new Toy();
  }
}
const OBJECT = ApiOkResponse({ schema: { type: 'object' } });
decorate(ToysController, 'update', Patch(), OBJECT);
Body()(ToysController.prototype, 'update', 0);
Reflect.defineMetadata('design:paramtypes', [ToyChanges], ToysController.prototype, 'update');
decorate(ToysController, 'find', Get(), OBJECT, UseInterceptors(ClassSerializerInterceptor));
Controller({ path: 'ropes', version: '1' })(ToysController);

export default [feature({ controllers: [ToysController] })];
