// @ts-check
// Routes whose responses differ from those of the usual route, as a feature declares them. The
// decorators are applied by hand, because this file is JavaScript.
import {
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  UnprocessableEntityException,
} from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import { Allow } from 'class-validator';
import { Public } from '#dist/platform/access/public.decorator.js';
import { ServiceError } from '#dist/platform/errors/service-error.js';
import { ApiErrors } from '#dist/platform/http/openapi/decorators/api-errors.decorator.js';
import { IdempotencyKey } from '#dist/platform/idempotency/idempotency-key.decorator.js';
import { decorateAll, feature } from './decorate.mjs';

const TOY = { schema: { type: 'object' }, example: { toyId: 1 } };

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its property is decorated below
class NewToy {}
Allow()(NewToy.prototype, 'name');
ApiProperty({ type: 'string', example: 'Rope' })(NewToy.prototype, 'name');

class ToysController {
  /** @param {number} toyId */
  find(toyId) {
    if (toyId === 0) throw new NotFoundException('No such toy.');
    return { toyId };
  }
  remove() {
    return undefined;
  }
  /** @param {Record<string, unknown>} toy */
  add(toy) {
    if (toy['name'] === 'Ball') throw new ConflictException('There is such a toy.');
    return { toyId: 1 };
  }
  /** @param {number} toyId */
  sell(toyId) {
    if (toyId === 1) throw new ConflictException('The toy is sold.');
    if (toyId === 2) throw new UnprocessableEntityException('The toy is not for sale.');
    const headers = { 'Retry-After': '1' };
    throw new ServiceError('idempotency_key_in_progress', 'Try again.', { headers });
  }
  /** @param {number} toyId */
  show(toyId) {
    if (toyId === 0) throw new Error('secret of the inside');
    return { toyId };
  }
}

decorateAll(ToysController, {
  find: [Get(':toyId'), ApiErrors({ not_found: 'No such toy.' }), ApiOkResponse(TOY)],
  remove: [Delete(':toyId'), HttpCode(204), ApiNoContentResponse({ description: 'Removed.' })],
  add: [
    Post(),
    ApiCreatedResponse(TOY),
    ApiConflictResponse({ description: 'There is such a toy.' }),
  ],
  sell: [
    Post(':toyId/sale'),
    ApiErrors({ conflict: 'The toy is sold.' }),
    ApiCreatedResponse(TOY),
    ApiUnprocessableEntityResponse({ description: 'The toy is not for sale.' }),
  ],
  show: [Get('shown/:toyId'), Public(), ApiNotFoundResponse(), ApiOkResponse(TOY)],
});
for (const name of ['find', 'remove', 'sell', 'show']) {
  Param('toyId', ParseIntPipe)(ToysController.prototype, name, 0);
  Reflect.defineMetadata('design:paramtypes', [Number], ToysController.prototype, name);
}
IdempotencyKey()(ToysController.prototype, 'sell', 1);
Body()(ToysController.prototype, 'add', 0);
Reflect.defineMetadata('design:paramtypes', [NewToy], ToysController.prototype, 'add');
Controller({ path: 'toys', version: '1' })(ToysController);

export default [feature({ controllers: [ToysController] })];
