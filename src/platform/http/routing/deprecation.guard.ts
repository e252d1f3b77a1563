import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { Clock } from '../../config/clock.js';
import { ServiceError } from '../../errors/service-error.js';
import { PublicUrl } from '../request/public-url.js';
import { responseOf } from '../request/request.js';

/** When an operation is deprecated and removed, and its replacement. */
interface Deprecation {
  /** When the operation was deprecated (RFC 9745). */
  since: Date;
  /** When the operation is removed (RFC 8594). From then on the response is 410. */
  sunset: Date;
  /** The path of the replacement. */
  successor: string;
  /** A sentence that says what callers use instead. */
  replacement: string;
}

const DeclaredDeprecation = Reflector.createDecorator<Deprecation>();

/** Sets the deprecation headers of an operation, and removes the operation at its sunset. */
export function Deprecated(deprecation: Deprecation): MethodDecorator {
  return applyDecorators(
    DeclaredDeprecation(deprecation),
    ApiExtension('x-sunset', deprecation.sunset.toISOString()),
    UseGuards(DeprecationGuard),
  );
}

/** Runs after the global guards: callers without an API key learn nothing about the route. */
@Injectable()
class DeprecationGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly clock: Clock,
    private readonly publicUrl: PublicUrl,
  ) {}

  /** @throws ServiceError endpoint_removed from the sunset on */
  canActivate(context: ExecutionContext): boolean {
    const deprecation = this.reflector.get(DeclaredDeprecation, context.getHandler());
    const response = responseOf(context);
    response.setHeader('Deprecation', `@${deprecation.since.getTime() / 1000}`);
    response.setHeader('Sunset', deprecation.sunset.toUTCString());
    const successor = this.publicUrl.value + deprecation.successor;
    response.setHeader('Link', `<${successor}>; rel="successor-version"`);
    if (this.clock.now() >= deprecation.sunset.getTime()) {
      const date = deprecation.sunset.toISOString().slice(0, 10);
      const message = `This operation was removed on ${date}. ${deprecation.replacement}`;
      throw new ServiceError('endpoint_removed', message);
    }
    return true;
  }
}
