// @ts-check
// A feature with a static and a private Logger.
import { Controller, Get, Logger, Module } from '@nestjs/common';
import { Public } from '#dist/platform/access/public.decorator.js';

class GreetingController {
  static logger = new Logger('static');
  #logger = new Logger('private');

  greet() {
    GreetingController.logger.log('greeting');
    this.#logger.log('greeting');
    return {};
  }
}
Controller({ path: 'greeting', version: '1' })(GreetingController);
const method = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(GreetingController.prototype, 'greet')
);
Get()(GreetingController.prototype, 'greet', method);
Public()(GreetingController.prototype, 'greet', method);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class GreetingModule {}
Module({ controllers: [GreetingController] })(GreetingModule);

export default [GreetingModule];
