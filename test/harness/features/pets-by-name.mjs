// @ts-check
// A list in another order than that of the ids, with two filters. The decorators are applied by
// hand, because this file is JavaScript.
import 'reflect-metadata';
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
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
import { decorate, feature } from './decorate.mjs';

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
const prototype = PetsByNameController.prototype;
decorate(PetsByNameController, 'list', Get());
Query()(prototype, 'list', 0);
Reflect.defineMetadata('design:paramtypes', [ByNameQuery], prototype, 'list');
decorate(PetsByNameController, 'find', Get(':id'));
Param('id', new Int64Pipe(petNotFound))(prototype, 'find', 0);
Reflect.defineMetadata('design:paramtypes', [BigInt], prototype, 'find');
Controller({ path: 'pets-by-name', version: '1' })(PetsByNameController);

export default [feature({ controllers: [PetsByNameController] })];
