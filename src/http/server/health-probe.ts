import type { Request } from '../request/request.js';

const HEALTH_PROBES = new Set(['/health/live', '/health/ready']);

/** Returns whether a request is a health probe: these are never shed and never wait. */
export function isHealthProbe({ url }: Request): boolean {
  return HEALTH_PROBES.has(url);
}
