import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Scope,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import type { Request } from 'express';
import { Public } from '#dist/platform/access/public.decorator.js';

const SESSIONS: Readonly<Record<string, string>> = { 'Bearer session-1': 'Ada' };

/** Authentication of the feature's own, in place of API keys. */
@Injectable()
export class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { authorization = '' } = context.switchToHttp().getRequest<Request>().headers;
    if (!(authorization in SESSIONS)) throw new UnauthorizedException('Log in first.');
    return true;
  }
}

@Injectable({ scope: Scope.REQUEST })
export class Author {
  readonly name;

  constructor(@Inject(REQUEST) request: Request) {
    this.name = SESSIONS[request.headers.authorization ?? ''];
  }
}

@Public()
@UseGuards(SessionGuard)
@Controller('drafts')
export class DraftsController {
  constructor(private readonly author: Author) {}

  @Get()
  list() {
    return { author: this.author.name };
  }
}
