// @ts-check
// The provider of nestjs-pino's `LoggerModule.forRoot()`, which logs requests by default.
import { feature } from './decorate.mjs';

export default [feature({ providers: [{ provide: 'pino-params', useValue: {} }] })];
