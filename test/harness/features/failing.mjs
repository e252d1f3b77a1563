// @ts-check
// Routes that fail as a team's own code might.
import { Controller, Get, Header, Module, Param, ParseEnumPipe } from '@nestjs/common';

/** @type {Record<string, () => unknown>} */
const FAILURES = {
  error: () => {
    throw new TypeError('Cannot read properties of undefined (secret of the inside)');
  },
  rejection: () => Promise.reject(new Error('secret of the inside')),
  text: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- as careless code does
    throw 'secret of the inside';
  },
  unprintable: () => ({
    toJSON() {
      throw new Error('secret of the inside');
    },
  }),
};

class FailingController {
  /** @param {string} kind */
  fail(kind) {
    return FAILURES[kind]?.();
  }
}
Controller({ path: 'failing', version: '1' })(FailingController);
const method = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(FailingController.prototype, 'fail')
);
Get(':kind')(FailingController.prototype, 'fail', method);
// Set before the handler runs. The error response must not carry it.
Header('ETag', '"of-what-did-not-come"')(FailingController.prototype, 'fail', method);
const kinds = Object.fromEntries(Object.keys(FAILURES).map((kind) => [kind, kind]));
Param('kind', new ParseEnumPipe(kinds))(FailingController.prototype, 'fail', 0);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class FailingModule {}
Module({ controllers: [FailingController] })(FailingModule);

export default [FailingModule];
