// @ts-check
// Routes that throw the exceptions of NestJS.
import * as common from '@nestjs/common';
import { decorate, feature } from './decorate.mjs';

/** @typedef {new (...args: unknown[]) => common.HttpException} Exception */

/** @type {Record<string, unknown[]>} */
const ARGUMENTS = {
  text: ['No such toy.'],
  texts: [['name is too long', 'age must be positive']],
  object: [{ message: 'No such toy.', hint: 'secret of the inside' }],
  silent: [{ hint: 'secret of the inside' }],
  cause: ['No such toy.', { cause: new Error('secret of the inside'), description: 'secret' }],
};

class ExceptionsController {
  exports() {
    return Object.keys(common);
  }

  /**
   * @param {string} name
   * @param {string} form
   */
  fail(name, form) {
    const type = /** @type {Record<string, Exception>} */ (/** @type {unknown} */ (common))[name];
    throw type ? new type(...(ARGUMENTS[form] ?? [])) : new Error(`no ${name}`);
  }

  /**
   * @param {string} status
   * @param {string} message
   */
  failWith(status, message) {
    throw new common.HttpException(message, Number(status));
  }

  challenge() {
    throw new common.UnauthorizedException();
  }

  /** @param {string} name */
  async parse(name) {
    const pipe =
      /** @type {Record<string, new (...options: unknown[]) => common.PipeTransform>} */ (
        /** @type {unknown} */ (common)
      )[name];
    if (!pipe) throw new Error(`no ${name}`);
    const options = name === 'ParseEnumPipe' ? { A: 'a' } : { items: Number };
    return /** @type {unknown} */ (
      await new pipe(options).transform(name === 'ParseFilePipe' ? undefined : 'x y', {
        type: 'param',
        metatype: undefined,
        data: 'id',
      })
    );
  }
}

class ClosedController {
  read() {
    return {};
  }
}

decorate(ExceptionsController, 'exports', common.Get('exports'));
decorate(ExceptionsController, 'fail', common.Get('thrown/:name/:form'));
decorate(ExceptionsController, 'failWith', common.Get('status/:status/:message'));
decorate(
  ExceptionsController,
  'challenge',
  common.Get('challenge'),
  common.Header('WWW-Authenticate', 'Basic realm="toys"'),
);
decorate(ExceptionsController, 'parse', common.Get('pipes/:name'));
decorate(ClosedController, 'read', common.Get(''));
for (const [index, name] of ['name', 'form'].entries())
  common.Param(name)(ExceptionsController.prototype, 'fail', index);
for (const [index, name] of ['status', 'message'].entries())
  common.Param(name)(ExceptionsController.prototype, 'failWith', index);
common.Param('name')(ExceptionsController.prototype, 'parse', 0);
common.UseGuards({ canActivate: () => false })(ClosedController);
common.Controller({ path: 'exceptions', version: '1' })(ExceptionsController);
common.Controller({ path: 'closed', version: '1' })(ClosedController);

export default [feature({ controllers: [ExceptionsController, ClosedController] })];
