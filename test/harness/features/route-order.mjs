// @ts-check
// Routes that an earlier route would match if the order of their declaration decided.
import { Controller, Get, Param, Post } from '@nestjs/common';
import { controller, decorate, feature } from './decorate.mjs';

const ToysController = controller(
  { path: 'toys' },
  { find: [Get(':toyId')], list: [Get('all')], replace: [Post(':name')] },
);
class PetListsController {
  mine() {
    return [];
  }
  /** @param {string} from @param {string} to */
  range(from, to) {
    return [from, to];
  }
  /** @param {string} first @param {string[]} other */
  segments(first, other) {
    return [first, other];
  }
}
const { prototype } = PetListsController;
decorate(PetListsController, 'mine', Get('mine'));
decorate(PetListsController, 'range', Get('mine/:from-:to'));
Reflect.defineMetadata('design:paramtypes', [String, String], prototype, 'range');
Param('from')(prototype, 'range', 0);
Param('to')(prototype, 'range', 1);
decorate(PetListsController, 'segments', Get(['mine/:first', 'mine/*other']));
Reflect.defineMetadata('design:paramtypes', [String, Array], prototype, 'segments');
Param('first')(prototype, 'segments', 0);
Param('other')(prototype, 'segments', 1);
Controller('pets')(PetListsController);

export default [feature({ controllers: [PetListsController, ToysController] })];
