// @ts-check
// Operations with an idempotency key, behind interceptors.
import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  HttpCode,
  Inject,
  Param,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import { IsString } from 'class-validator';
import { map } from 'rxjs';
import { CallerKey } from '#dist/platform/access/caller-key.decorator.js';
import { ServiceError } from '#dist/platform/errors/service-error.js';
import { IdempotencyKey } from '#dist/platform/idempotency/idempotency-key.decorator.js';
import { IdempotencyModule } from '#dist/platform/idempotency/idempotency.module.js';
import { Idempotency } from '#dist/platform/idempotency/idempotency.js';
import { decorate, feature } from './decorate.mjs';

class NewNote {
  text = '';
  author = '';
}
IsString()(NewNote.prototype, 'text');
IsString()(NewNote.prototype, 'author');

/** How often the work of each operation has run. */
let runs = 0;
let conflicts = 0;

const VALUES = {
  run: 0,
  large: 2n ** 80n,
  int64: 9223372036854775807n,
  small: 1n,
  double: 0.1234567890123456,
  far: 1e21,
  text: '12345678901234567890 \u2028 🐈',
  date: new Date('2027-01-01T00:00:00Z'),
  money: { toJSON: () => '1.50' },
  missing: undefined,
  list: [undefined, -0, [9007199254740993n]],
};

/** @typedef {(run: number) => unknown} Work */
/** @type {Record<string, Work>} */
const WORKS = {
  created: (run) => ({ ...VALUES, run }),
  nothing: () => undefined,
  null: () => null,
  conflict: (run) => {
    if (conflicts++ === 0) throw new ServiceError('conflict', 'The note is being edited.');
    return { run };
  },
};

class NotesController {
  /** @param {Idempotency} idempotency */
  constructor(idempotency) {
    this.idempotency = idempotency;
  }

  /**
   * @param {NewNote} note
   * @param {import('#dist/platform/access/cached-key.js').CachedKey} caller
   * @param {string | undefined} key
   * @param {string} work
   */
  create(note, { ownerId }, key, work) {
    const run = () => Promise.resolve(WORKS[work]?.(++runs));
    if (key === undefined) return run();
    return this.idempotency.once({ ownerId, key, operation: work, content: note }, run);
  }

  /** @type {typeof NotesController.prototype.create} */
  createWithoutContent(note, caller, key, work) {
    return this.create(note, caller, key, work);
  }

  /** @type {typeof NotesController.prototype.create} */
  enveloped(note, caller, key, work) {
    return this.create(note, caller, key, work);
  }
}

const prototype = NotesController.prototype;
/** @param {string} name @param {...MethodDecorator} decorators */
function route(name, ...decorators) {
  Reflect.defineMetadata('design:paramtypes', [NewNote, Object, String, String], prototype, name);
  Body()(prototype, name, 0);
  CallerKey()(prototype, name, 1);
  IdempotencyKey()(prototype, name, 2);
  Param('work')(prototype, name, 3);
  decorate(NotesController, name, ...decorators);
}
const envelope = {
  /** @type {import('@nestjs/common').NestInterceptor['intercept']} */
  intercept: (_context, next) =>
    next.handle().pipe(map((data) => ({ data, type: typeof data?.int64 }))),
};
route('create', Post('create/:work'));
route('createWithoutContent', Post('create-without-content/:work'), HttpCode(204));
route(
  'enveloped',
  Post('enveloped/:work'),
  HttpCode(202),
  UseInterceptors(envelope, ClassSerializerInterceptor),
);
Inject(Idempotency)(NotesController, undefined, 0);
Controller({ path: 'notes', version: '1' })(NotesController);

export default [feature({ imports: [IdempotencyModule], controllers: [NotesController] })];
