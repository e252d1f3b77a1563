// @ts-check
// A route that `pets/:petId` would match if the order of the declarations decided. Twice in an application: a duplicate.
import { Get } from '@nestjs/common';
import { controller, feature } from './decorate.mjs';

export default [feature({ controllers: [controller({ path: 'pets' }, { mine: [Get('mine')] })] })];
