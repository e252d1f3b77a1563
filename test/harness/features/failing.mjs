// @ts-check
// Routes that fail as a team's own code might.
import { Controller, Get, Header, Param, ParseEnumPipe } from '@nestjs/common';
import { decorate, feature } from './decorate.mjs';

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
decorate(FailingController, 'fail', Get(':kind'), Header('ETag', '"of-what-did-not-come"'));
// Set before the handler runs. The error response must not carry it.
const kinds = Object.fromEntries(Object.keys(FAILURES).map((kind) => [kind, kind]));
Param('kind', new ParseEnumPipe(kinds))(FailingController.prototype, 'fail', 0);

export default [feature({ controllers: [FailingController] })];
