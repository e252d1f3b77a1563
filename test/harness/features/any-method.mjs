// @ts-check
// A route that a feature serves for all methods.
import { All, Controller, Module } from '@nestjs/common';

class AnyMethodController {
  respond() {
    return {};
  }
}
Controller('any-method')(AnyMethodController);
const method = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(AnyMethodController.prototype, 'respond')
);
All()(AnyMethodController.prototype, 'respond', method);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class AnyMethodModule {}
Module({ controllers: [AnyMethodController] })(AnyMethodModule);

export default [AnyMethodModule];
