import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { Clock } from '../../config/clock.js';
import { ServiceError } from '../../errors/service-error.js';
import { responseOf } from '../request/http-context.js';

/** Injection token: the start of the URLs in `Link` headers. It is PUBLIC_URL, or '' for relative references. */
export const LINK_BASE = Symbol('link base');

/** When an operation was deprecated and when it goes, and what replaces it. */
export interface Deprecation {
  /** RFC 9745: since when. */
  since: Date;
  /** RFC 8594: from this moment on the operation is answered 410. */
  sunset: Date;
  /** The path of the operation that replaces it. */
  successor: string;
  /** What the caller of a removed operation is told to use instead. */
  replacement: string;
}

export const DEPRECATION = 'deprecation';

/** Where the deprecation stands in an operation until the interface description is put together. */
export const DEPRECATION_EXTENSION = 'x-deprecation';

/** Announces that an operation is deprecated, and ends it at its sunset by the clock alone. */
export function Deprecated(deprecation: Deprecation): MethodDecorator {
  return applyDecorators(
    SetMetadata(DEPRECATION, deprecation),
    ApiExtension(DEPRECATION_EXTENSION, deprecation),
    UseGuards(DeprecationGuard),
  );
}

/** Returns what the caller of a removed operation is told. */
export function removalMessage({ sunset, replacement }: Deprecation): string {
  return `This operation was removed on ${sunset.toISOString().slice(0, 10)}. ${replacement}`;
}

/** Stands behind the guards for limits and key: what these refuse learns nothing of the operation. */
@Injectable()
export class DeprecationGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly clock: Clock,
    @Inject(LINK_BASE) private readonly linkBase: string,
  ) {}

  /** @throws ServiceError endpoint_removed from the sunset on */
  canActivate(context: ExecutionContext): boolean {
    const deprecation = this.reflector.get<Deprecation>(DEPRECATION, context.getHandler());
    const response = responseOf(context);
    response.setHeader('Deprecation', `@${deprecation.since.getTime() / 1000}`);
    response.setHeader('Sunset', deprecation.sunset.toUTCString());
    response.setHeader(
      'Link',
      `<${this.linkBase}${deprecation.successor}>; rel="successor-version"`,
    );
    if (this.clock.now() >= deprecation.sunset.getTime()) {
      throw new ServiceError('endpoint_removed', removalMessage(deprecation));
    }
    return true;
  }
}
