// @ts-check
// Routes that no request reaches, and a parameter that its path does not have.
import { All, Controller, Get, Next, Param, Post, VERSION_NEUTRAL } from '@nestjs/common';
import { controller, decorate, feature } from './decorate.mjs';

const OtherPetsController = controller(
  { path: 'pets' },
  { find: [Get(':id')], list: [Get()], add: [Post('others')] },
);
const AllController = controller(
  { path: 'others', version: VERSION_NEUTRAL },
  { all: [All(':id')], find: [Get(':id')], list: [Get('*path')], files: [Get('{:name}')] },
);
const HostController = controller({ path: 'hosts', host: 'a.test' }, { list: [Get()] });
const NoHostController = controller({ path: 'hosts' }, { list: [Get()] });
class NextController {
  /** @param {string} _id @param {() => void} next */
  skip(_id, next) {
    next();
  }
  /** @param {string} id */
  find(id) {
    return id;
  }
}
const { prototype } = NextController;
Reflect.defineMetadata('design:paramtypes', [String, Function], prototype, 'skip');
Reflect.defineMetadata('design:paramtypes', [String], prototype, 'find');
decorate(NextController, 'skip', Get(':id'));
Param('idd')(prototype, 'skip', 0);
Next()(prototype, 'skip', 1);
decorate(NextController, 'find', Get([':id', ':id/:name']));
Param('name')(prototype, 'find', 0);
Controller('next')(NextController);

export default [
  feature({
    controllers: [
      OtherPetsController,
      AllController,
      HostController,
      NoHostController,
      NextController,
    ],
  }),
];
