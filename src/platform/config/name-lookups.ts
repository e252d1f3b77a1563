/** Per server of names. glibc waits for five seconds, twice. */
const LIMITS = 'timeout:1 attempts:1';

/**
 * Limits how long glibc waits for the response to a lookup of a name. Node.js cannot cancel a lookup: it occupies one of
 * few threads, and the process does not end before. What RES_OPTIONS contains already has priority.
 */
export function limitNameLookups(): void {
  process.env['RES_OPTIONS'] = `${LIMITS} ${process.env['RES_OPTIONS'] ?? ''}`.trim();
}
