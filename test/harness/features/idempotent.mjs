// @ts-check
// Operations with an idempotency key, right and wrong, as a team's own code might have them.
import { Body, Controller, HttpCode, Inject, Param, Post, Res } from '@nestjs/common';
import { IsString } from 'class-validator';
import { CallerKey } from '#dist/platform/access/caller-key.decorator.js';
import { ServiceError } from '#dist/platform/errors/service-error.js';
import { Page } from '#dist/platform/http/response/handler-result.js';
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

/** @typedef {(run: number) => unknown} Work */
/** @type {Record<string, Work>} */
const WORKS = {
  created: (run) => ({ run }),
  nothing: () => undefined,
  page: () => new Page([]),
  conflict: (run) => {
    if (run % 2 === 1)
      throw new ServiceError('idempotency_key_in_progress', 'The note is being edited.');
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
  create(note, caller, key, work) {
    runs++;
    const run = runs;
    if (key === undefined) return { run };
    return this.once(note, caller, key, work, run);
  }

  /** @type {typeof NotesController.prototype.create} */
  createWithoutContent(note, caller, key, work) {
    return this.create(note, caller, key, work);
  }

  /** @type {typeof NotesController.prototype.create} */
  forgetOnce() {
    return { run: ++runs };
  }

  /** @param {NewNote} note @param {import('#dist/platform/access/cached-key.js').CachedKey} caller
   * @param {string | undefined} key @param {string} work */
  async changeResult(note, caller, key, work) {
    return { result: await this.create(note, caller, key, work) };
  }

  /** @type {typeof NotesController.prototype.create} */
  useOtherKey(note, caller, key, work) {
    return this.create(note, caller, key && 'other', work);
  }

  /** @type {typeof NotesController.prototype.create} */
  accepted(note, caller, key, work) {
    return this.create(note, caller, key, work);
  }

  /** @param {NewNote} note @param {import('#dist/platform/access/cached-key.js').CachedKey} caller
   * @param {string} key @param {string} work @param {import('express').Response} response */
  setStatus(note, caller, key, work, response) {
    return this.idempotency.once(
      { ownerId: caller.ownerId, key, operation: `note ${work}`, content: note },
      () => {
        response.status(work === 'accept' ? 202 : 409);
        return Promise.resolve({});
      },
    );
  }

  /** @param {NewNote} note @param {import('#dist/platform/access/cached-key.js').CachedKey} caller
   * @param {string} key @param {string} work @param {number} run */
  once(note, caller, key, work, run) {
    return this.idempotency.once(
      { ownerId: caller.ownerId, key, operation: `note ${work}`, content: note },
      () => Promise.resolve(WORKS[work]?.(run)),
    );
  }
}

const prototype = NotesController.prototype;
/** @param {string} name @param {...MethodDecorator} decorators */
function route(name, ...decorators) {
  Reflect.defineMetadata('design:paramtypes', [NewNote, Object, String, String], prototype, name);
  Body()(prototype, name, 0);
  CallerKey()(prototype, name, 1);
  IdempotencyKey()(prototype, name, 2);
  Param('work', { transform: (/** @type {string} */ text) => text })(prototype, name, 3);
  decorate(NotesController, name, ...decorators);
}
route('create', Post('create/:work'));
route('createWithoutContent', Post('create-without-content/:work'), HttpCode(204));
route('forgetOnce', Post('forget-once/:work'));
route('changeResult', Post('change-result/:work'));
route('accepted', Post('accepted/:work'), HttpCode(202));
route('setStatus', Post('set-status/:work'));
Res({ passthrough: true })(prototype, 'setStatus', 4);
route('useOtherKey', Post('use-other-key/:work'));
Inject(Idempotency)(NotesController, undefined, 0);
Controller({ path: 'notes', version: '1' })(NotesController);

export default [feature({ imports: [IdempotencyModule], controllers: [NotesController] })];
