// @ts-check
// A list in another order than that of the ids, with two filters. The decorators are applied by
// hand, because this file is JavaScript.
import 'reflect-metadata';
import { Controller, Get, Inject, Module, Param, Query } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { PageCursor } from '#dist/platform/http/paging/page-cursor.js';
import { PageQuery } from '#dist/platform/http/paging/page-query.dto.js';
import { petNotFound } from '#dist/pets/pets.errors.js';
import { Int64Pipe } from '#dist/platform/http/validation/int64.pipe.js';
import {
  IsOneOf,
  IsOptionalMember,
  IsText,
} from '#dist/platform/http/validation/property-rules.js';

const BY_NAME = new PageCursor('text', 'bigint');

class ByNameQuery extends PageQuery {}
IsOptionalMember()(ByNameQuery.prototype, 'status');
IsOneOf(['available', 'sold'])(ByNameQuery.prototype, 'status');
IsOptionalMember()(ByNameQuery.prototype, 'prefix');
IsText(2, 5)(ByNameQuery.prototype, 'prefix');

const LIST = `
  SELECT id, name COLLATE "C" AS name FROM pets
   WHERE (name COLLATE "C", id) > ($1, $2)
     AND ($3::text IS NULL OR status = $3) AND ($4::text IS NULL OR starts_with(name, $4))
   ORDER BY 2, 1 LIMIT $5`;

class PetsByNameController {
  /** @param {import('typeorm').DataSource} database */
  constructor(database) {
    this.database = database;
  }

  /** @param {ByNameQuery & { status?: string, prefix?: string }} query */
  async list(query) {
    const [name, id] = BY_NAME.positionOf(query) ?? ['', 0n];
    /** @type {{ id: bigint, name: string }[]} */
    const rows = await this.database.query(LIST, [
      name,
      id,
      query.status,
      query.prefix,
      query.limit + 1,
    ]);
    return BY_NAME.page(rows, query, (row) => [row.name, row.id]);
  }

  /** @param {bigint} id */
  find(id) {
    return id;
  }
}
Reflect.defineMetadata('design:paramtypes', [Object], PetsByNameController);
Inject(getDataSourceToken())(PetsByNameController, undefined, 0);
route('list', Get(), Query(), ByNameQuery);
route('find', Get(':id'), Param('id', new Int64Pipe(petNotFound)), BigInt);
Controller({ path: 'pets-by-name', version: '1' })(PetsByNameController);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- a module, decorated by hand
class PetsByNameModule {}
Module({ controllers: [PetsByNameController] })(PetsByNameModule);

export default [PetsByNameModule];

/**
 * @param {'list' | 'find'} name
 * @param {MethodDecorator} method
 * @param {ParameterDecorator} parameter
 * @param {Function} type
 */
function route(name, method, parameter, type) {
  const { prototype } = PetsByNameController;
  const descriptor = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(prototype, name)
  );
  Reflect.defineMetadata('design:paramtypes', [type], prototype, name);
  parameter(prototype, name, 0);
  method(prototype, name, descriptor);
}
