import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';

/** Limits of a body. Without one of them, the usual one applies. */
export interface BodyLimits {
  bytes?: number;
  /** The members and elements of the JSON, and the nested values of its DTO. */
  values?: number;
}

export const OwnBodyLimits = Reflector.createDecorator<BodyLimits>();

/**
 * Sets the limits of the body of a route, or of each route of a controller. The start rejects more bytes
 * than MAX_UPLOAD_MEBIBYTES. Each value takes up to 7 µs, in which the process handles no other request.
 */
export const BodyLimit = (limits: BodyLimits): MethodDecorator & ClassDecorator =>
  applyDecorators(OwnBodyLimits(limits), ApiExtension('x-body-limits', limits));
