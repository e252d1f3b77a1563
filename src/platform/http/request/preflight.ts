import { type ExecutionContext, SetMetadata } from '@nestjs/common';
import { requestOf } from './request-context.js';

const PREFLIGHTS = 'preflights';

/** Marks the controller that responds to CORS preflights. */
export const RespondsToPreflights = (): ClassDecorator => SetMetadata(PREFLIGHTS, true);

/**
 * Whether the request is a CORS preflight that such a controller handles, which needs no API key.
 * The `@All()` handler of a feature must not run without one.
 */
export function isHandledPreflight(context: ExecutionContext): boolean {
  return requestOf(context).corsPreflight && Reflect.hasMetadata(PREFLIGHTS, context.getClass());
}
