// @ts-check
// A route that a feature serves for all methods.
import { All } from '@nestjs/common';
import { controller, feature } from './decorate.mjs';

export default [
  feature({ controllers: [controller({ path: 'any-method' }, { respond: [All()] })] }),
];
