// @ts-check
// A route that a feature opens to everyone, in addition to those of routes.mjs.
import { Get } from '@nestjs/common';
import { Public } from '#dist/platform/access/public.decorator.js';
import routes from './routes.mjs';
import { controller, feature } from './decorate.mjs';

const open = controller({ path: 'open', version: '1' }, { read: [Get(), Public()] });

export default [...routes, feature({ controllers: [open] })];
