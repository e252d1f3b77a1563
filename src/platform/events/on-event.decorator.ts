import { SetMetadata } from '@nestjs/common';

/** The metadata key of `@OnEvent()`. */
export const ON_EVENT = 'on-event';

/** What `@OnEvent()` stores on a method. */
export interface EventSubscription {
  readonly event: string;
  /** The time limit of an attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** After this many failed attempts, the event is parked. */
  readonly maxAttempts: number;
}

/**
 * Calls `method(payload, signal)` of a provider for each published event, at least once and in no
 * particular order. The signal is aborted when the time limit expires or the service stops.
 */
export function OnEvent(
  event: string,
  { timeoutMs = 30_000, maxAttempts = 12 }: Partial<Omit<EventSubscription, 'event'>> = {},
): MethodDecorator {
  return SetMetadata(ON_EVENT, { event, timeoutMs, maxAttempts } satisfies EventSubscription);
}
