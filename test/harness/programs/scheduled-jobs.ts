import type { INestApplication } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';

/**
 * Ends the schedules of an application. The clock of a test stands, so its jobs run when the test calls them: those of the platform
 * would delete or store rows, or wait for a connection, at any moment of a test.
 */
export function stopSchedules(app: INestApplication): void {
  const registry = app.get(SchedulerRegistry);
  for (const name of registry.getIntervals()) registry.deleteInterval(name);
  for (const name of registry.getTimeouts()) registry.deleteTimeout(name);
  for (const name of registry.getCronJobs().keys()) registry.deleteCronJob(name);
}
