const OLDEST_VERSION = 7;

/** Returns what is wrong with a server for counters. @param info what it answers to INFO */
export function serverWarnings(info: string): string[] {
  const warnings: string[] = [];
  const policy = valueOf(info, 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push(
      `Redis evicts by ${policy}: owners can lose their counters when memory is short (set maxmemory-policy noeviction)`,
    );
  }
  const version = valueOf(info, 'redis_version');
  if (version !== undefined && Number.parseInt(version, 10) < OLDEST_VERSION) {
    warnings.push(`Redis ${version} is older than ${OLDEST_VERSION}, which the limits need`);
  }
  return warnings;
}

function valueOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
}
