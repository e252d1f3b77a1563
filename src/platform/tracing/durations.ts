/** The systems that the service calls, as OpenTelemetry names them. */
type System = 'postgresql' | 'redis';

/**
 * Called with the seconds that PostgreSQL or Redis took to respond. The metrics replace these
 * functions. Commands for operators have no metrics.
 */
export const observeDuration: Record<System, (seconds: number) => void> = {
  postgresql: () => undefined,
  redis: () => undefined,
};
