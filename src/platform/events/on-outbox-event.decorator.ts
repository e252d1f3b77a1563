import { SetMetadata } from '@nestjs/common';

export const ON_OUTBOX_EVENT = 'on-outbox-event';

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
export const OnOutboxEvent = (
  event: string,
  { timeoutMs = 30_000, maxAttempts = 12 }: Partial<Omit<EventSubscription, 'event'>> = {},
): MethodDecorator =>
  SetMetadata(ON_OUTBOX_EVENT, { event, timeoutMs, maxAttempts } satisfies EventSubscription);
