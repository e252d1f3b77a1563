// Lists every route of the application that it is part of, opens one to everyone, and mounts what serves
// every method, as packages do.
import { Controller, Get, Module, type OnModuleInit, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Public } from '../../../src/platform/http/request/public.decorator.js';

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
class RoutesFeature implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const respond = (_request: unknown, response: { json(body: object): void }) =>
      response.json({ mounted: true });
    this.host.httpAdapter.use('/mounted', respond);
  }
}
export default [RoutesFeature];
