import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiSecurity } from '@nestjs/swagger';

/** Whether a route or a controller is public. */
export const IsPublic = Reflector.createDecorator<boolean>();

/**
 * Makes a route or a controller public: it requires no API key. A request is counted for the owner
 * of a valid API key, otherwise for its address. `@SkipThrottle()` turns that off.
 */
export const Public = (): MethodDecorator & ClassDecorator =>
  applyDecorators(IsPublic(true), ApiSecurity({}));
