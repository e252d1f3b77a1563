import type { Type } from '@nestjs/common';
import { PartialType } from '@nestjs/swagger';

/**
 * Returns a class with the properties of a DTO, all optional, for the body of a PATCH:
 * `class ToyChanges extends ChangesOf(NewToy) {}`. A missing property stays undefined: unlike
 * `PartialType(NewToy)`, it does not get the default of a new row. null is invalid, unless the property
 * has `@IsOptional()`.
 */
export function ChangesOf<Dto extends object>(dto: Type<Dto>): Type<Partial<Dto>> {
  const Optional = PartialType(dto as Type<object>, { skipNullProperties: false });
  class Changes extends Optional {
    constructor() {
      super();
      for (const name of Object.keys(this)) Reflect.deleteProperty(this, name);
    }
  }
  return Changes;
}
