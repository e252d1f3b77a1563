// Lists every route of the application that it is part of, and opens one to everyone.
import { Controller, Get, Module, Req } from '@nestjs/common';
import { Public } from '../../../src/platform/access/public.decorator.js';

interface Layer {
  route?: { path: string | string[]; methods: Record<string, boolean> };
  handle: { stack?: unknown[] };
}

@Controller('routes')
class RoutesController {
  @Get()
  list(@Req() request: { app: { router: { stack: Layer[] } } }) {
    const { stack } = request.app.router;
    return {
      routes: stack.flatMap(({ route }) =>
        [route?.path ?? []]
          .flat()
          .map((path) => ({ path, methods: Object.keys(route?.methods ?? {}) })),
      ),
      // The routes of a router inside of the router are not listed.
      nestedRouters: stack.filter(({ handle }) => handle.stack !== undefined).length,
    };
  }

  @Public()
  @Get('open')
  open() {
    return {};
  }
}

@Module({ controllers: [RoutesController] })
class RoutesFeature {}
export default [RoutesFeature];
